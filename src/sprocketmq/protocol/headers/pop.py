"""POP consumption: the broker hands messages out and hides them until they are acknowledged."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import TopicRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class PopMessageRequestHeader(TopicRequestHeader):
    """200050 POP_MESSAGE."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    max_msg_nums: int = wire("maxMsgNums")
    invisible_time: Long = wire("invisibleTime")
    poll_time: Long = wire("pollTime")
    born_time: Long = wire("bornTime")
    init_mode: int = wire("initMode")
    exp_type: str | None = wire("expType", default=None)
    exp: str | None = wire("exp", default=None)
    order: bool | None = wire("order", default=None)
    attempt_id: str | None = wire("attemptId", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PopMessageResponseHeader:
    """Answers 200050 POP_MESSAGE, 200052 PEEK_MESSAGE."""

    pop_time: Long = wire("popTime")
    invisible_time: Long = wire("invisibleTime")
    revive_qid: int = wire("reviveQid")
    rest_num: Long = wire("restNum")
    start_offset_info: str | None = wire("startOffsetInfo", default=None)
    msg_offset_info: str | None = wire("msgOffsetInfo", default=None)
    order_count_info: str | None = wire("orderCountInfo", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeekMessageRequestHeader(TopicRequestHeader):
    """200052 PEEK_MESSAGE."""

    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    max_msg_nums: int = wire("maxMsgNums")
    consumer_group: str = wire("consumerGroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessageRequestHeader(TopicRequestHeader):
    """200051 ACK_MESSAGE."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    extra_info: str = wire("extraInfo")
    offset: Long = wire("offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInvisibleTimeRequestHeader(TopicRequestHeader):
    """200053 CHANGE_MESSAGE_INVISIBLETIME."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    extra_info: str = wire("extraInfo")
    offset: Long = wire("offset")
    invisible_time: Long = wire("invisibleTime")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInvisibleTimeResponseHeader:
    """Answers 200053 CHANGE_MESSAGE_INVISIBLETIME."""

    pop_time: Long = wire("popTime")
    invisible_time: Long = wire("invisibleTime")
    revive_qid: int = wire("reviveQid")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRequestHeader(TopicRequestHeader):
    """200054 NOTIFICATION."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
    poll_time: Long = wire("pollTime")
    born_time: Long = wire("bornTime")
    order: bool | None = wire("order", default=None)
    attempt_id: str | None = wire("attemptId", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationResponseHeader:
    """Answers 200054 NOTIFICATION."""

    has_msg: bool = wire("hasMsg")
    polling_full: bool = wire("pollingFull", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingInfoRequestHeader(TopicRequestHeader):
    """200055 POLLING_INFO."""

    consumer_group: str = wire("consumerGroup")
    topic: str = wire("topic")
    queue_id: int = wire("queueId")
