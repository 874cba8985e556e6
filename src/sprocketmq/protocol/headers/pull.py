"""Pulling messages, and handing them back for a later retry."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import RpcRequestHeader, TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMessageRequestHeader(TopicRequestHeader):
    """11 PULL_MESSAGE, 361 LITE_PULL_MESSAGE."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    queue_offset: Long = wire("queueOffset")
    max_msg_nums: int = wire("maxMsgNums")
    sys_flag: int = wire("sysFlag")
    commit_offset: Long = wire("commitOffset")
    suspend_timeout_millis: Long = wire("suspendTimeoutMillis")
    subscription: str | None = wire("subscription", default=None)
    sub_version: Long = wire("subVersion")
    expression_type: str | None = wire("expressionType", default=None)
    max_msg_bytes: int | None = wire("maxMsgBytes", default=None)
    request_source: int | None = wire("requestSource", default=None)
    proxy_froward_client_id: str | None = wire("proxyFrowardClientId", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMessageResponseHeader:
    """Answers 11 PULL_MESSAGE, 361 LITE_PULL_MESSAGE."""

    suggest_which_broker_id: Long = wire("suggestWhichBrokerId")
    next_begin_offset: Long = wire("nextBeginOffset")
    min_offset: Long = wire("minOffset")
    max_offset: Long = wire("maxOffset")
    offset_delta: Long | None = wire("offsetDelta", default=None)
    topic_sys_flag: int | None = wire("topicSysFlag", default=None)
    group_sys_flag: int | None = wire("groupSysFlag", default=None)
    forbidden_type: int | None = wire("forbiddenType", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSendMsgBackRequestHeader(RpcRequestHeader):
    """36 CONSUMER_SEND_MSG_BACK."""

    offset: Long = wire("offset")
    group: str = wire("group")
    delay_level: int = wire("delayLevel")
    origin_msg_id: str | None = wire("originMsgId", default=None)
    origin_topic: str | None = wire("originTopic", default=None)
    unit_mode: bool = wire("unitMode", default=False)
    max_reconsume_times: int | None = wire("maxReconsumeTimes", default=None)
