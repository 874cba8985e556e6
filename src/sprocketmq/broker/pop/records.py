"""What POP writes down: which messages were handed out, and which of them were acknowledged.

Both are messages of the revive topic, JSON with RocketMQ's short keys, told apart by their tag. They come there by a
timer: a check point a second before its messages become visible again, an acknowledgement at that time.

    ck     so start offset, n messages, d their distances from it, pt pop time, it invisible time, t topic, q queue,
           c group, bn broker, bm bits of those acknowledged, ro its own offset in the revive queue
    ack    ao offset; so, t, q, c, pt, bn as in its check point
    bAck   the same with aol, several offsets

A client holds the key to a message in one line of text, its extra info:

    start offset, pop time, invisible time, revive queue, retry flag, broker, queue, queue offset       blanks between
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol import names
from sprocketmq.protocol.fields import LONG

CHECK_POINT, ACK, BATCH_ACK = "ck", "ack", "bAck"
#: What one POP takes at most, and so what a check point is of.
MAX_MESSAGES = 32
#: The revive queue that stands for orderly POP, which needs no reviving.
ORDERLY = 999
#: Retry flags: the topic itself, and its two forms of retry topic.
NORMAL, RETRY_V1, RETRY_V2 = "0", "1", "2"

#: The messages that one check point is of: topic, group, queue, start offset, pop time, broker.
Key = tuple[str, str, int, int, int, str]


@dataclass(slots=True, kw_only=True)
class CheckPoint:
    start_offset: int
    pop_time: int
    invisible_time: int
    topic: str
    group: str
    queue_id: int
    broker_name: str
    offsets: list[int]
    acked: set[int]

    @property
    def revive_time(self) -> int:
        return self.pop_time + self.invisible_time

    @property
    def key(self) -> Key:
        return self.topic, self.group, self.queue_id, self.start_offset, self.pop_time, self.broker_name

    @property
    def unique_key(self) -> str:
        return "@".join(map(str, (
            self.topic, self.queue_id, self.start_offset, self.group, self.pop_time, self.broker_name, CHECK_POINT,
        )))  # fmt: skip

    def encode(self) -> bytes:
        body = {
            "bm": 0, "bn": self.broker_name, "c": self.group, "d": [at - self.start_offset for at in self.offsets],
            "it": self.invisible_time, "n": len(self.offsets), "pt": self.pop_time, "q": self.queue_id, "ro": 0,
            "so": self.start_offset, "t": self.topic,
        }  # fmt: skip
        return orjson.dumps(body)

    @classmethod
    def decode(cls, body: dict[str, Any]) -> CheckPoint:
        start, number = int(body["so"]), int(body["n"])
        offsets = [start + int(step) for step in body.get("d") or range(number)]
        bits = int(body.get("bm", 0))
        return cls(
            start_offset=start, pop_time=int(body["pt"]), invisible_time=int(body["it"]), topic=body["t"],
            group=body["c"], queue_id=int(body["q"]), broker_name=body.get("bn") or "", offsets=offsets,
            acked={offset for index, offset in enumerate(offsets) if bits >> index & 1},
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PopAck:
    offsets: tuple[int, ...]
    start_offset: int
    topic: str
    group: str
    queue_id: int
    pop_time: int
    broker_name: str

    @property
    def key(self) -> Key:
        return self.topic, self.group, self.queue_id, self.start_offset, self.pop_time, self.broker_name

    @property
    def tag(self) -> str:
        return ACK if len(self.offsets) == 1 else BATCH_ACK

    @property
    def unique_key(self) -> str:
        offsets = ",".join(map(str, self.offsets))
        return "@".join(map(str, (
            self.topic, self.queue_id, offsets, self.group, self.pop_time, self.broker_name, self.tag,
        )))  # fmt: skip

    def encode(self) -> bytes:
        body: dict[str, Any] = {
            "ao": self.offsets[0], "bn": self.broker_name, "c": self.group, "pt": self.pop_time, "q": self.queue_id,
            "so": self.start_offset, "t": self.topic,
        }  # fmt: skip
        if len(self.offsets) > 1:
            body = {"aol": self.offsets, **body}
        return orjson.dumps(body)

    @classmethod
    def decode(cls, body: dict[str, Any]) -> PopAck:
        offsets = tuple(map(int, body.get("aol") or (body["ao"],)))
        return cls(
            offsets=offsets, start_offset=int(body["so"]), topic=body["t"], group=body["c"], queue_id=int(body["q"]),
            pop_time=int(body["pt"]), broker_name=body.get("bn") or "",
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraInfo:
    start_offset: int
    pop_time: int
    invisible_time: int
    revive_queue_id: int
    retry_flag: str
    broker_name: str
    queue_id: int
    queue_offset: int

    def __str__(self) -> str:
        return (
            f"{self.start_offset} {self.pop_time} {self.invisible_time} {self.revive_queue_id} {self.retry_flag} "
            f"{self.broker_name} {self.queue_id} {self.queue_offset}"
        )

    def real_topic(self, topic: str, group: str) -> str:
        """The topic that the message was popped from."""
        return topic_of(topic, group, self.retry_flag)


def parse_extra_info(text: str) -> ExtraInfo:
    """Raises RequestRefused for what is none; the last part may be missing."""
    parts = text.split(" ")
    try:
        start, pop_time, invisible, revive = map(_long, parts[:4])
        queue_id, queue_offset = _long(parts[6]), _long(parts[7]) if len(parts) > 7 else -1
    except (ValueError, IndexError):
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, f"no extra info: {text[:100]!r}") from None
    return ExtraInfo(
        start_offset=start, pop_time=pop_time, invisible_time=invisible, revive_queue_id=revive, retry_flag=parts[4],
        broker_name=parts[5], queue_id=queue_id, queue_offset=queue_offset,
    )  # fmt: skip


def _long(text: str) -> int:
    """ValueError for what is no number of 64 bits, as check points and acknowledgements keep them."""
    low, high = LONG.bounds
    if not low <= (number := int(text)) <= high:
        raise ValueError(text)
    return number


def topic_of(topic: str, group: str, retry_flag: str) -> str:
    if retry_flag == NORMAL or names.is_retry_topic(topic):
        return topic
    return names.pop_retry_topic(group, topic, separator="+" if retry_flag == RETRY_V2 else "_")
