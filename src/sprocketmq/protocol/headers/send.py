"""Sending messages, and replies to request-reply messages. V2 is the same header with one-letter keys."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import TopicRequestHeader
from sprocketmq.protocol.requests.send import LETTER_OF


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageRequestHeader(TopicRequestHeader):
    """10 SEND_MESSAGE, 324 SEND_REPLY_MESSAGE."""

    producer_group: str = wire("producerGroup")
    topic: str = wire("topic")
    default_topic: str = wire("defaultTopic")
    default_topic_queue_nums: int = wire("defaultTopicQueueNums")
    queue_id: int = wire("queueId")
    sys_flag: int = wire("sysFlag")
    born_timestamp: Long = wire("bornTimestamp")
    flag: int = wire("flag")
    properties: str | None = wire("properties", default=None)
    reconsume_times: int | None = wire("reconsumeTimes", default=None)
    unit_mode: bool | None = wire("unitMode", default=None)
    batch: bool | None = wire("batch", default=None)
    max_reconsume_times: int | None = wire("maxReconsumeTimes", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageRequestHeaderV2(TopicRequestHeader):
    """310 SEND_MESSAGE_V2, 320 SEND_BATCH_MESSAGE, 325 SEND_REPLY_MESSAGE_V2."""

    producer_group: str = wire(LETTER_OF["producerGroup"])
    topic: str = wire(LETTER_OF["topic"])
    default_topic: str = wire(LETTER_OF["defaultTopic"])
    default_topic_queue_nums: int = wire(LETTER_OF["defaultTopicQueueNums"])
    queue_id: int = wire(LETTER_OF["queueId"])
    sys_flag: int = wire(LETTER_OF["sysFlag"])
    born_timestamp: Long = wire(LETTER_OF["bornTimestamp"])
    flag: int = wire(LETTER_OF["flag"])
    properties: str | None = wire(LETTER_OF["properties"], default=None)
    reconsume_times: int | None = wire(LETTER_OF["reconsumeTimes"], default=None)
    unit_mode: bool | None = wire(LETTER_OF["unitMode"], default=None)
    max_reconsume_times: int | None = wire(LETTER_OF["maxReconsumeTimes"], default=None)
    batch: bool | None = wire(LETTER_OF["batch"], default=None)
    broker_name: str | None = wire(LETTER_OF["brokerName"], default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageResponseHeader:
    """Answers every kind of send."""

    msg_id: str = wire("msgId")
    queue_id: int = wire("queueId")
    queue_offset: Long = wire("queueOffset")
    transaction_id: str | None = wire("transactionId", default=None)
    batch_uniq_id: str | None = wire("batchUniqId", default=None)
    recall_handle: str | None = wire("recallHandle", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyMessageRequestHeader(TopicRequestHeader):
    """326 PUSH_REPLY_MESSAGE_TO_CLIENT."""

    producer_group: str = wire("producerGroup")
    topic: str = wire("topic")
    default_topic: str = wire("defaultTopic")
    default_topic_queue_nums: int = wire("defaultTopicQueueNums")
    queue_id: int = wire("queueId")
    sys_flag: int = wire("sysFlag")
    born_timestamp: Long = wire("bornTimestamp")
    flag: int = wire("flag")
    properties: str | None = wire("properties", default=None)
    reconsume_times: int | None = wire("reconsumeTimes", default=None)
    unit_mode: bool = wire("unitMode", default=False)
    born_host: str = wire("bornHost")
    store_host: str = wire("storeHost")
    store_timestamp: Long = wire("storeTimestamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallMessageRequestHeader(TopicRequestHeader):
    """370 RECALL_MESSAGE."""

    producer_group: str | None = wire("producerGroup", default=None)
    topic: str = wire("topic")
    recall_handle: str = wire("recallHandle")
