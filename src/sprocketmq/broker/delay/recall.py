"""Recalling a timer before its time: RECALL_MESSAGE.

handle := base64url("v1 topic broker_name timestamp unique_key")      the answer to a send with a timer carries it

A recall is itself a message with a timer, in the same second: TIMER_DEL_UNIQKEY, `topic+unique_key`, names what is not
to be delivered then.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass

from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.send import RecallMessageRequestHeader
from sprocketmq.protocol.record.properties import MSG_REGION, TAGS, TIMER_DEL_UNIQKEY, TIMER_DELIVER_MS, UNIQUE_KEY
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.log.append import PutResult

VERSION = "v1"
_TAG = "_RECALL_TAG_"


@dataclass(frozen=True, slots=True)
class Handle:
    topic: str
    broker_name: str
    timestamp: int
    unique_key: str


def recall_handle(topic: str, broker_name: str, timestamp: int, unique_key: str) -> str:
    return urlsafe_b64encode(f"{VERSION} {topic} {broker_name} {timestamp} {unique_key}".encode()).decode()


def recalled_key(topic: str, unique_key: str) -> str:
    """What TIMER_DEL_UNIQKEY says of a message."""
    return f"{topic}+{unique_key}"


def parse_handle(text: str) -> Handle | None:
    """None for what is no handle."""
    try:
        parts = urlsafe_b64decode(text).decode().split(" ")
    except (binascii.Error, ValueError):
        return None
    timestamp = number_in(parts[3]) if len(parts) == 5 and parts[0] == VERSION else None
    return None if timestamp is None else Handle(parts[1], parts[2], timestamp, parts[4])


class Recalls:
    """`put` stores a message of the broker's own, with its timer."""

    def __init__(
        self, settings: Settings, topics: TopicTable, answers: SafeAnswers, put: Callable[[BrokerMessage], PutResult],
        now_ms: Callable[[], int],
    ) -> None:  # fmt: skip
        self._settings = settings
        self._topics = topics
        self._answers = answers
        self._put = put
        self._now_ms = now_ms

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.RECALL_MESSAGE, self.recall)

    def recall(self, connection: Connection, request: Command) -> Reply:
        """Even a refusal tells the region: a producer that traces needs it."""
        region = {MSG_REGION: self._settings.current.region_id}
        try:
            found = {"msgId": self._recall(connection, request), **region}
        except RequestRefused as refused:
            return request.reply(refused.code, refused.remark, ext_fields=region)
        return self._answers.reply(connection, request, request.reply(ext_fields=found))

    def _recall(self, connection: Connection, request: Command) -> str:
        """The unique key of what is recalled."""
        header = from_ext_fields(RecallMessageRequestHeader, request.ext_fields)
        handle = self._allowed(header)
        properties = {
            UNIQUE_KEY: handle.unique_key,
            TAGS: _TAG,
            TIMER_DELIVER_MS: str(handle.timestamp),
            TIMER_DEL_UNIQKEY: recalled_key(handle.topic, handle.unique_key),
        }
        message = BrokerMessage(
            topic=handle.topic,
            queue_id=0,
            body=b"0",
            properties=properties,
            born_timestamp=self._now_ms(),
            born_host=connection.peer.packed,
        )
        if not self._put(message).ok:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the store does not take the recall now")
        return handle.unique_key

    def _allowed(self, header: RecallMessageRequestHeader) -> Handle:
        config = self._settings.current
        if not config.recall_message_enable:
            raise RequestRefused(ResponseCode.NO_PERMISSION, "recalls are switched off; recallMessageEnable is false")
        if self._topics.get(header.topic) is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {header.topic}")
        handle = parse_handle(header.recall_handle)
        if handle is None or handle.topic != header.topic or handle.broker_name != config.broker_name:
            raise RequestRefused(ResponseCode.ILLEGAL_OPERATION, "the handle is none of this topic and broker")
        left_ms = handle.timestamp - self._now_ms()
        if not 0 < left_ms < config.timer_max_delay_sec * 1000:
            raise RequestRefused(ResponseCode.ILLEGAL_OPERATION, "the time to recall it is over")
        return handle
