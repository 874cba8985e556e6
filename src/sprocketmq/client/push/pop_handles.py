"""The handle by which a popped message is acknowledged, `POP_CK`: eight parts, separated by blanks.

handle := start_offset pop_time invisible_time revive_queue retry_flag broker_name queue_id queue_offset
An answer tells the starts as `retry_flag queue_id start;...` and the offsets as `retry_flag queue_id offset,offset;...`
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sprocketmq.client.received import ReceivedMessage
from sprocketmq.errors import CommandError
from sprocketmq.protocol.headers.pop import PopMessageResponseHeader
from sprocketmq.protocol.names import is_retry_topic, pop_retry_topic
from sprocketmq.protocol.record.properties import POP_CK

_SEPARATOR = " "


@dataclass(frozen=True, slots=True)
class PopHandle:
    start_offset: int
    pop_time: int
    invisible_ms: int
    revive_queue: int
    retry_flag: str
    broker_name: str
    queue_id: int
    queue_offset: int

    @classmethod
    def parse(cls, text: str) -> PopHandle:
        parts = text.split(_SEPARATOR)
        if len(parts) < 8:
            raise CommandError(f"no POP handle: {text[:80]!r}")
        start, pop_time, invisible, revive, flag, broker_name, queue_id, offset = parts[:8]
        return cls(
            int(start), int(pop_time), int(invisible), int(revive), flag, broker_name, int(queue_id), int(offset)
        )

    def __str__(self) -> str:
        parts = (
            self.start_offset, self.pop_time, self.invisible_ms, self.revive_queue, self.retry_flag, self.broker_name,
            self.queue_id, self.queue_offset,
        )  # fmt: skip
        return _SEPARATOR.join(map(str, parts))

    def topic(self, group: str, topic: str) -> str:
        """The topic whose queue the message lies in."""
        if self.retry_flag == "1":
            return pop_retry_topic(group, topic)
        if self.retry_flag == "2":
            return pop_retry_topic(group, topic, separator="+")
        return topic


def handles_of(
    header: PopMessageResponseHeader, messages: Iterable[ReceivedMessage], broker_name: str
) -> list[tuple[ReceivedMessage, PopHandle]]:
    """Each message with its handle: its own when the broker put one on it, else made from the answer's header."""
    starts = {key: int(value) for key, value in _entries(header.start_offset_info)}
    offsets = {key: [int(offset) for offset in value.split(",")] for key, value in _entries(header.msg_offset_info)}
    seen: dict[tuple[str, int], int] = {}
    paired: list[tuple[ReceivedMessage, PopHandle]] = []
    for message in sorted(messages, key=lambda m: m.queue_offset):
        if (text := message.properties.get(POP_CK)) is not None:
            paired.append((message, PopHandle.parse(text)))
            continue
        key = _flag(message.stored_topic), message.queue_id
        position = seen[key] = seen.get(key, -1) + 1
        listed = offsets.get(key, [])
        own = message.queue_offset
        offset = own if own in listed or position >= len(listed) else listed[position]
        handle = PopHandle(
            starts.get(key, offset), header.pop_time, header.invisible_time, header.revive_qid, key[0], broker_name,
            message.queue_id, offset,
        )  # fmt: skip
        paired.append((message, handle))
    return paired


def _flag(topic: str) -> str:
    if not is_retry_topic(topic):
        return "0"
    return "2" if "+" in topic else "1"


def _entries(info: str | None) -> list[tuple[tuple[str, int], str]]:
    pieces = (piece.split(_SEPARATOR) for piece in (info or "").split(";") if piece)
    return [((flag, int(queue_id)), value) for flag, queue_id, value in pieces]
