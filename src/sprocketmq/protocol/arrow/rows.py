# cython: annotation_typing=False
"""The records of a run that a reader wants, as places: one row of eight int64 per record.

row := at store_time_at body_at body_end topic_at topic_end end sys_flag

Places count from the beginning of the buffer. The columns of a batch are then filled one by one, each in a loop over
the rows.
"""

from __future__ import annotations

from collections.abc import Iterable

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.errors import BodyError
from sprocketmq.protocol.record.hashing import utf8_hash
from sprocketmq.protocol.record.properties import find_property
from sprocketmq.protocol.record.record import REASONS, RecordParts

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, blank, cut, i32, is_ascii, put_le64, same, text
    from sprocketmq.protocol.record.record import BLANK, FIXED_BYTES, WHOLE

    AT, STORE_TIME_AT, BODY_AT, BODY_END, TOPIC_AT, TOPIC_END, END, SYS_FLAG = range(0, 64, 8)
    ROW_BYTES = 64


class Wanted:
    """Which records a reader wants; what is None is not looked at."""

    def __init__(
        self,
        topics: Iterable[str] | None = None,
        queue_id: int | None = None,
        tags_codes: Iterable[int] | None = None,
        check_crc: bool = False,
    ) -> None:
        self.topics = None if topics is None else [topic.encode() for topic in topics]
        self.any_queue = queue_id is None
        self.queue_id = 0 if queue_id is None else queue_id
        self.tags_codes = None if tags_codes is None else frozenset(tags_codes)
        self.check_crc = check_crc

    def takes(self, p: Octets, layout: RecordParts) -> bool:
        if not self.any_queue and i32(p, layout.at + 12) != self.queue_id:
            return False
        if self.topics is not None and not self.takes_topic(p, layout.topic_at, layout.topic_end):
            return False
        if self.tags_codes is None:
            return True
        tags = find_property(cut(p, layout.properties_at, layout.properties_end), b"TAGS")
        return utf8_hash(tags or b"") in self.tags_codes

    def takes_topic(self, p: Octets, at: int, end: int) -> bool:
        for topic in self.topics or ():  # noqa: SIM110 - a loop in C, a generator has none
            if len(topic) == end - at and same(p, at, topic, 0, end - at):
                return True
        return False


class Rows:
    """The rows found so far; `seen` records of `seen_bytes` were looked at for them, and they end at `stop`."""

    def __init__(self, room: int) -> None:
        self.count = 0
        self.seen = 0
        self.seen_bytes = 0
        self.stop = 0
        self.places = blank(room * ROW_BYTES)  # numbers in bytes: no object for a row, and none for a place
        self.layout = RecordParts()

    def walk(self, p: Octets, at: int, enough: int, end: int, wanted: Wanted) -> int:
        """Take the records back to back that begin before `enough`; returns where they end, `end` behind a blank."""
        while at < enough:
            kind = self.layout.locate(p, at, end)
            if kind == BLANK:
                return end
            self.take(p, at, kind, wanted)
            at += self.layout.size
        return at

    def take(self, p: Octets, at: int, kind: int, wanted: Wanted) -> None:
        """Count the record, and keep it when it is wanted: the body of another one is not even looked at."""
        layout = self.layout
        if kind != WHOLE:
            raise BodyError(f"record at {at}: {REASONS.get(kind, 'blank')}")
        if not is_ascii(p, layout.topic_at, layout.topic_end):
            check_topic(p, layout)
        self.seen += 1
        self.seen_bytes += layout.size
        if wanted.takes(p, layout):
            if wanted.check_crc:
                kind = layout.check(p)
                if kind != WHOLE:
                    raise BodyError(f"record at {at}: {REASONS.get(kind, 'blank')}")
            self.append(layout)

    def append(self, layout: RecordParts) -> None:
        p = self.places  # compiled, a pointer: there is room for as many rows as the shortest records would give
        row = self.count * ROW_BYTES
        put_le64(p, row + AT, layout.at)
        put_le64(p, row + STORE_TIME_AT, layout.store_time_at)
        put_le64(p, row + BODY_AT, layout.body_at)
        put_le64(p, row + BODY_END, layout.body_end)
        put_le64(p, row + TOPIC_AT, layout.topic_at)
        put_le64(p, row + TOPIC_END, layout.topic_end)
        put_le64(p, row + END, layout.end)
        put_le64(p, row + SYS_FLAG, layout.sys_flag)
        self.count += 1


def check_topic(p: Octets, layout: RecordParts) -> None:
    try:
        text(p, layout.topic_at, layout.topic_end)
    except ValueError:
        raise BodyError(f"record at {layout.at}: its topic is not UTF-8") from None


def rows_of_run(data: Octets, at: int, end: int, wanted: Wanted, enough: int | None = None) -> Rows:
    """The wanted records of data[at:end], which holds whole records and perhaps a blank one at its end.

    With `enough`, only of those that begin before it: `stop` tells where to go on.
    """
    if at < 0 or end > len(data):
        raise ValueError(f"[{at}, {end}) is outside of {len(data)} bytes")
    limit = end if enough is None else min(enough, end)
    rows = Rows((limit - at) // FIXED_BYTES + 1 if limit > at else 0)
    rows.stop = at
    if at < limit:
        # A bare address, which no index is checked against; `data` keeps its bytes for as long as this runs.
        p = cython.address(data[0]) if cython.compiled else data
        rows.stop = rows.walk(p, at, limit, end, wanted)
    return rows


def rows_of_entries(data: Octets, entries: list[tuple[int, int]], wanted: Wanted, origin: int = 0) -> Rows:
    """The wanted records among those that begin at an offset and have a size, as a ConsumeQueue lists them.

    `origin` is the offset of the first byte of `data`.
    """
    rows = Rows(len(entries))
    if not entries:
        return rows
    have = len(data)
    p = cython.address(data[0]) if cython.compiled else data
    for offset, size in entries:
        at = offset - origin
        if at < 0 or size <= 0 or size > have - at:
            raise BodyError(f"record at {at}: its size leaves the data")
        kind = rows.layout.locate(p, at, at + size)
        if rows.layout.size != size:
            raise BodyError(f"record at {at}: of {rows.layout.size} bytes, not {size}")
        rows.take(p, at, kind, wanted)
    return rows
