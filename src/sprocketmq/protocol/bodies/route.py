"""Where the queues of a topic are, as a nameserver tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueData:
    broker_name: str = wire("brokerName", default="")
    read_queue_nums: int = wire("readQueueNums", default=0)
    write_queue_nums: int = wire("writeQueueNums", default=0)
    perm: int = wire("perm", default=0)
    topic_sys_flag: int = wire("topicSysFlag", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerData:
    cluster: str = wire("cluster", default="")
    broker_name: str = wire("brokerName", default="")
    broker_addrs: Mapping[Long, str] = wire("brokerAddrs", default_factory=dict, omit_empty=True)
    zone_name: str | None = wire("zoneName", default=None)
    enable_acting_master: bool = wire("enableActingMaster", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicQueueMappingInfo:
    """Of a static topic: which logical queues a broker leads. `mapping` has the rest, which clients have no use for."""

    topic: str = wire("topic", default="")
    scope: str = wire("scope", default="__global__")
    total_queues: int = wire("totalQueues", default=0)
    bname: str = wire("bname", default="")
    epoch: Long = wire("epoch", default=0)
    dirty: bool = wire("dirty", default=False)
    curr_id_map: Mapping[int, int] = wire("currIdMap", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRouteData:
    order_topic_conf: str | None = wire("orderTopicConf", default=None)
    queue_datas: tuple[QueueData, ...] = wire("queueDatas", default=())
    broker_datas: tuple[BrokerData, ...] = wire("brokerDatas", default=())
    filter_server_table: Mapping[str, tuple[str, ...]] = wire("filterServerTable", default_factory=dict)
    topic_queue_mapping_by_broker: Mapping[str, TopicQueueMappingInfo] = wire(
        "topicQueueMappingByBroker", default_factory=dict, omit_empty=True
    )
