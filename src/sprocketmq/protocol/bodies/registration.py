"""What a broker registers with a nameserver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class KVTable:
    table: Mapping[str, str] = wire("table", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerBody:
    topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper = wire(
        "topicConfigSerializeWrapper", default_factory=TopicConfigAndMappingSerializeWrapper
    )
    filter_server_list: tuple[str, ...] = wire("filterServerList", default=())
