"""What brokers and administrators ask of a nameserver, save its key-value table."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRequestHeader:
    """103 REGISTER_BROKER."""

    broker_name: str = wire("brokerName")
    broker_addr: str = wire("brokerAddr")
    cluster_name: str = wire("clusterName")
    ha_server_addr: str = wire("haServerAddr")
    broker_id: Long = wire("brokerId")
    heartbeat_timeout_millis: Long | None = wire("heartbeatTimeoutMillis", default=None)
    enable_acting_master: bool | None = wire("enableActingMaster", default=None)
    compressed: bool = wire("compressed", default=False)
    body_crc32: int = wire("bodyCrc32", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerResponseHeader:
    """Answers 103 REGISTER_BROKER."""

    ha_server_addr: str | None = wire("haServerAddr", default=None)
    master_addr: str | None = wire("masterAddr", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnRegisterBrokerRequestHeader:
    """104 UNREGISTER_BROKER."""

    broker_name: str = wire("brokerName")
    broker_addr: str = wire("brokerAddr")
    cluster_name: str = wire("clusterName")
    broker_id: Long = wire("brokerId")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersionRequestHeader:
    """322 QUERY_DATA_VERSION."""

    broker_name: str = wire("brokerName")
    broker_addr: str = wire("brokerAddr")
    cluster_name: str = wire("clusterName")
    broker_id: Long = wire("brokerId")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersionResponseHeader:
    """Answers 322 QUERY_DATA_VERSION."""

    changed: bool = wire("changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequestHeader:
    """904 BROKER_HEARTBEAT."""

    cluster_name: str = wire("clusterName")
    broker_addr: str = wire("brokerAddr")
    broker_name: str = wire("brokerName")
    broker_id: Long | None = wire("brokerId", default=None)
    epoch: int | None = wire("epoch", default=None)
    max_offset: Long | None = wire("maxOffset", default=None)
    confirm_offset: Long | None = wire("confirmOffset", default=None)
    heartbeat_timeout_mills: Long | None = wire("heartbeatTimeoutMills", default=None)
    election_priority: int | None = wire("electionPriority", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRouteInfoRequestHeader(TopicRequestHeader):
    """105 GET_ROUTEINFO_BY_TOPIC."""

    topic: str = wire("topic")
    accept_standard_json_only: bool | None = wire("acceptStandardJsonOnly", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterTopicRequestHeader(TopicRequestHeader):
    """217 REGISTER_TOPIC_IN_NAMESRV."""

    topic: str = wire("topic")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicFromNamesrvRequestHeader(TopicRequestHeader):
    """216 DELETE_TOPIC_IN_NAMESRV."""

    topic: str = wire("topic")
    cluster_name: str | None = wire("clusterName", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicsByClusterRequestHeader:
    """224 GET_TOPICS_BY_CLUSTER."""

    cluster: str = wire("cluster")


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermOfBrokerRequestHeader:
    """205 WIPE_WRITE_PERM_OF_BROKER."""

    broker_name: str = wire("brokerName")


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermOfBrokerResponseHeader:
    """Answers 205 WIPE_WRITE_PERM_OF_BROKER."""

    wipe_topic_count: int = wire("wipeTopicCount")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermOfBrokerRequestHeader:
    """327 ADD_WRITE_PERM_OF_BROKER."""

    broker_name: str = wire("brokerName")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermOfBrokerResponseHeader:
    """Answers 327 ADD_WRITE_PERM_OF_BROKER."""

    add_topic_count: int = wire("addTopicCount")


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerMemberGroupRequestHeader:
    """901 GET_BROKER_MEMBER_GROUP."""

    cluster_name: str = wire("clusterName")
    broker_name: str = wire("brokerName")
