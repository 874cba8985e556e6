"""Transactions that are open: which half messages have neither been committed nor rolled back.

    half topic, queue 0    half messages; a check of one appends a copy of it, which then stands for it
    op topic, queue 0      removal marks: queue offsets of ended halves, in decimal, each followed by a comma
    progress               offsets of the group CID_RMQ_SYS_TRANS: before them nothing is open, no mark is needed

A copy names the first of its line in TRAN_PREPARED_QUEUE_OFFSET, so that an END_TRANSACTION for any of the line finds
the one that is open. What is open is kept in memory and found again at the start: halves behind the progress, less
those marked, less those whose committed message is in its topic already (its mark was lost in a kill). What is written
counts, see `written_log`; whether it may be read yet does not.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.safe_progress import SafeProgress
from sprocketmq.broker.system_topics.topic_counts import Resting
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.transaction.written_log import QUEUE, WrittenLog, readable_record, written_end
from sprocketmq.logs import Events
from sprocketmq.protocol.names import TRANSACTION_HALF_TOPIC, TRANSACTION_OP_TOPIC
from sprocketmq.protocol.record.properties import (
    REAL_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    UNIQUE_KEY,
    decode_properties,
)
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.transaction")

GROUP = "CID_RMQ_SYS_TRANS"
_MARK_PROPERTIES = b"WAIT\x01true\x02TAGS\x01d\x02"
_AFTER_REFUSAL_SECONDS = 1.0


class Half(NamedTuple):
    """A half message with its properties; `first` is the queue offset of the first of its line."""

    record: Record
    properties: dict[str, str]
    first: int

    @property
    def checks(self) -> int:
        return number_in(self.properties.get(TRANSACTION_CHECK_TIMES)) or 0


class OpenHalves:
    def __init__(self, store: MessageStore, offsets: ConsumerOffsets, settings: Settings, resting: Resting) -> None:
        self.progress = SafeProgress(store, self._progress, self._commit)
        self.resting = resting
        self.open: dict[int, int] = {}
        self._latest: dict[int, int] = {}
        #: Where in the log the open ones are.
        self._places: dict[int, int] = {}
        self._marks: list[int] = []
        self._writing = self._refused = False
        self._ops: deque[tuple[int, int]] = deque()
        #: Where the last load began, while others are asked for a record that it could not read.
        self._held_progress: tuple[int, int] | None = None
        self._store = store
        self._offsets = offsets
        self._settings = settings

    # -- what is open --------------------------------------------------------------------------------------------------

    def opened(self, offset: int, place: int, first: int | None = None) -> None:
        """A half was stored at this queue offset and place of the log; with `first`, as the latest of that line."""
        self._places[offset] = place
        if first is None or first == offset:
            self.open[offset] = offset
            return
        self.closed(self._latest.get(first, first))
        self.open[offset] = first
        self._latest[first] = offset

    def closed(self, offset: int) -> None:
        """The half there is not the open one of its line, if it was."""
        self.open.pop(offset, None)
        self._places.pop(offset, None)

    def find(self, half: Half) -> int | None:
        """The offset of the half that is open for this one's line; None when its transaction has ended."""
        offset = self._latest.get(half.first, half.first)
        return offset if offset in self.open else None

    def end(self, half: Half) -> None:
        """The transaction has ended: mark every half of its line that a reader could still take for open. The first is
        one of them: without its copy, which is marked, it stands for itself.
        """
        latest = self.find(half)
        if latest is None:
            return
        self.closed(latest)
        self.resting.add(half.properties.get(REAL_TOPIC, ""), -1)
        self._latest.pop(half.first, None)
        self._marks += sorted({half.first, latest, half.record.queue_offset})
        if not self._writing:
            self._writing = True
            asyncio.get_running_loop().call_soon(self.write_marks)

    def read(self, offset: int) -> Half | None:
        """The half at a queue offset; None when it is gone, or may not be read yet."""
        record = readable_record(self._store, TRANSACTION_HALF_TOPIC, offset)
        return None if record is None else half_of(record)

    def at(self, place: int) -> Half | None:
        """The half that begins at this place of the log; None when none does. A peer may name any place, so its queue
        says so too; or it is an open one, which a producer may end before it can be read.
        """
        record = self._store.reader.record_at(place)
        if record is None or record.topic != TRANSACTION_HALF_TOPIC:
            return None
        known = self._places.get(record.queue_offset) == place or self._store.reader.message_at(place) is not None
        return half_of(record) if known else None

    # -- marks ---------------------------------------------------------------------------------------------------------

    @property
    def are_marked(self) -> bool:
        """Whether the log has a mark of everything that was ended."""
        return not self._marks

    def write_marks(self) -> None:
        """Append what was ended in this turn of the loop, as few messages as their size allows."""
        self._writing = False
        limit = self._settings.current.transaction_op_msg_max_size
        while self._marks:
            count, size = 0, 0
            while count < len(self._marks) and (count == 0 or size + len(str(self._marks[count])) < limit):
                size += len(str(self._marks[count])) + 1
                count += 1
            if not self._write_mark(self._marks[:count]):
                self._writing = True
                asyncio.get_running_loop().call_later(_AFTER_REFUSAL_SECONDS, self.write_marks)
                return
            del self._marks[:count]

    def _write_mark(self, halves: list[int]) -> bool:
        body = "".join(f"{offset}," for offset in halves).encode()
        result = self._store.put(
            TRANSACTION_OP_TOPIC, QUEUE, 0, 0, body, _MARK_PROPERTIES, self._store.clock.now_ms(),
            self._store.appender.store_host, 0, 0,
        )  # fmt: skip
        if result.ok:
            self._ops.append((result.queue_offset, max(halves)))
        elif not self._refused:
            events.warning("ended transactions not marked yet", status=PutStatus(result.status).name)
        self._refused = not result.ok
        return result.ok

    # -- across restarts -----------------------------------------------------------------------------------------------

    def load(self) -> Iterator[tuple[int, Half]]:
        """Find what is open, and tell of each. What was known of an earlier time as master is forgotten."""
        self.open.clear()
        self._latest.clear()
        self._places.clear()
        self._ops.clear()
        self._marks.clear()
        self._held_progress = None
        self.resting.begin({})
        begin, end = self._begin(TRANSACTION_HALF_TOPIC), written_end(self._store, TRANSACTION_HALF_TOPIC)
        if begin >= end:
            return
        log = WrittenLog(self._store)
        ended = self._load_marks(log)
        same: dict[tuple[str, int], int] = {}
        for offset in range(begin, end):
            record = None if offset in ended else self._record(log, TRANSACTION_HALF_TOPIC, offset)
            half = None if record is None else half_of(record)
            if half is None or half.first in ended:
                continue
            half = self._linked(half, same)
            self.opened(offset, half.record.commit_offset, half.first)
        for offset in list(self.open):
            record = log.record(TRANSACTION_HALF_TOPIC, offset)
            if record is None:
                continue
            half = half_of(record)._replace(first=self.open[offset])
            self.resting.add(half.properties.get(REAL_TOPIC, ""), 1)
            if self._is_committed(half, log):
                self.end(half)
            else:
                yield offset, half

    @property
    def is_awaiting(self) -> bool:
        """Whether what was loaded lacks a damaged record that is being mended: it is to be loaded again."""
        return self._held_progress is not None

    def is_awaited(self, offset: int) -> bool:
        """Whether the half at a queue offset, which cannot be read, is being mended."""
        return self._is_mended(TRANSACTION_HALF_TOPIC, offset)

    def _is_mended(self, topic: str, offset: int) -> bool:
        entry = self._store.reader.entry(topic, QUEUE, offset)
        return entry is not None and self._store.damaged.is_awaited(topic, QUEUE, entry)

    def _record(self, log: WrittenLog, topic: str, offset: int) -> Record | None:
        record = log.record(topic, offset)
        if record is None and self._is_mended(topic, offset):
            self._held_progress = self._begin(TRANSACTION_HALF_TOPIC), self._begin(TRANSACTION_OP_TOPIC)
        return record

    def _linked(self, half: Half, same: dict[tuple[str, int], int]) -> Half:
        """A copy by a broker that does not name the first of the line is known by its key and time."""
        identity = half.properties.get(UNIQUE_KEY, ""), half.record.born_timestamp
        if half.checks and half.first == half.record.queue_offset and identity in same:
            half = half._replace(first=same[identity])
        same.setdefault(identity, half.first)
        return half

    def _load_marks(self, log: WrittenLog) -> set[int]:
        ended: set[int] = set()
        for offset in range(self._begin(TRANSACTION_OP_TOPIC), written_end(self._store, TRANSACTION_OP_TOPIC)):
            record = self._record(log, TRANSACTION_OP_TOPIC, offset)
            if record is not None:
                halves = marks_in(record.body)
                ended |= halves
                self._ops.append((offset, max(halves, default=-1)))
        return ended

    def _begin(self, topic: str) -> int:
        known = self._offsets.query(GROUP, topic, QUEUE) or 0
        return max(known, self._store.min_offset(topic, QUEUE))

    def _is_committed(self, half: Half, log: WrittenLog) -> bool:
        """Whether its message is in its own topic: committed, and killed before the mark was written."""
        topic, key = half.properties.get(REAL_TOPIC, ""), half.properties.get(UNIQUE_KEY, "")
        return any(self._is_of_line(place, half) for place in log.committed(topic, key))

    def _is_of_line(self, commit_offset: int, half: Half) -> bool:
        """Whether the record there is of this half's line; a copy that names no first one is known by its time."""
        record = self._store.reader.record_at(commit_offset)
        if record is None or record.topic != TRANSACTION_HALF_TOPIC:
            return False
        first = self.open.get(record.queue_offset, half_of(record).first)
        return first == half.first or (half.checks > 0 and record.born_timestamp == half.record.born_timestamp)

    def _progress(self) -> tuple[int, int]:
        """The first half that is open, and the first mark that is still needed."""
        if self._held_progress is not None:
            return self._held_progress
        half = next(iter(self.open), self._store.max_offset(TRANSACTION_HALF_TOPIC, QUEUE))
        while self._ops and self._ops[0][1] < half:
            self._ops.popleft()
        return half, self._ops[0][0] if self._ops else self._store.max_offset(TRANSACTION_OP_TOPIC, QUEUE)

    def _commit(self, progress: tuple[int, int]) -> None:
        self._offsets.commit(GROUP, TRANSACTION_HALF_TOPIC, QUEUE, progress[0])
        self._offsets.commit(GROUP, TRANSACTION_OP_TOPIC, QUEUE, progress[1])


def half_of(record: Record) -> Half:
    properties = decode_properties(record.properties)
    first = number_in(properties.get(TRAN_PREPARED_QUEUE_OFFSET))
    return Half(record, properties, record.queue_offset if first is None else first)


def marks_in(body: bytes) -> set[int]:
    """The queue offsets in a mark: `0,1,` of RocketMQ 5 or a single `0` of 4.9."""
    return {int(part) for part in body.split(b",") if part.isdigit() and len(part) < 20}
