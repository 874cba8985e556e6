"""Static topics: which broker holds which part of a logical queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.route import TopicQueueMappingInfo
from sprocketmq.protocol.bodies.topic import TopicConfig, TopicConfigSerializeWrapper
from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicQueueMappingItem:
    gen: int = wire("gen", default=0)
    queue_id: int = wire("queueId", default=0)
    bname: str = wire("bname", default="")
    logic_offset: Long = wire("logicOffset", default=0)
    start_offset: Long = wire("startOffset", default=0)
    end_offset: Long = wire("endOffset", default=-1)
    time_of_start: Long = wire("timeOfStart", default=-1)
    time_of_end: Long = wire("timeOfEnd", default=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQueueMappingDetail(TopicQueueMappingInfo):
    hosted_queues: Mapping[int, tuple[LogicQueueMappingItem, ...]] = wire("hostedQueues", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigAndQueueMapping(TopicConfig):
    mapping_detail: TopicQueueMappingDetail | None = wire("mappingDetail", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigAndMappingSerializeWrapper(TopicConfigSerializeWrapper):
    topic_queue_mapping_info_map: Mapping[str, TopicQueueMappingInfo] = wire(
        "topicQueueMappingInfoMap", default_factory=dict
    )
    topic_queue_mapping_detail_map: Mapping[str, TopicQueueMappingDetail] = wire(
        "topicQueueMappingDetailMap", default_factory=dict
    )
    mapping_data_version: DataVersion = wire("mappingDataVersion", default_factory=DataVersion)
    #: Ours: where in the log topics were deleted, commit offset and store time; see `store.files.deleted_topics`.
    deleted_topics: Mapping[str, tuple[Long, ...]] = wire(
        "sprocketDeletedTopics", default_factory=dict, omit_empty=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQueueMappingSerializeWrapper:
    topic_queue_mapping_info_map: Mapping[str, TopicQueueMappingDetail] = wire(
        "topicQueueMappingInfoMap", default_factory=dict, omit_empty=True
    )
    data_version: DataVersion = wire("dataVersion", default_factory=DataVersion)
