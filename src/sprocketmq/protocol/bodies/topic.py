"""Topics of a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.enums import TopicFilterType
from sprocketmq.protocol.fields import wire
from sprocketmq.protocol.permissions import PERM_INHERIT, PERM_READ, PERM_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    topic_name: str = wire("topicName", default="")
    read_queue_nums: int = wire("readQueueNums", default=16)
    write_queue_nums: int = wire("writeQueueNums", default=16)
    perm: int = wire("perm", default=6)
    topic_filter_type: TopicFilterType = wire("topicFilterType", default=TopicFilterType.SINGLE_TAG)
    topic_sys_flag: int = wire("topicSysFlag", default=0)
    order: bool = wire("order", default=False)
    attributes: Mapping[str, str] = wire("attributes", default_factory=dict)

    @property
    def readable(self) -> bool:
        return bool(self.perm & PERM_READ)

    @property
    def writable(self) -> bool:
        return bool(self.perm & PERM_WRITE)

    @property
    def inherited(self) -> bool:
        """Whether a topic that does not exist yet may be made after this one."""
        return bool(self.perm & PERM_INHERIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigSerializeWrapper:
    topic_config_table: Mapping[str, TopicConfig] = wire("topicConfigTable", default_factory=dict)
    data_version: DataVersion = wire("dataVersion", default_factory=DataVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicListRequestBody:
    topic_config_list: tuple[TopicConfig, ...] = wire("topicConfigList", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicList:
    topic_list: frozenset[str] = wire("topicList", default=frozenset())
    broker_addr: str | None = wire("brokerAddr", default=None)
