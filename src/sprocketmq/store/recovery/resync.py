"""Finding records again behind damage.

Nothing marks a record's beginning but its magic, so every place that has it is tried: a record counts when its parts
add up, its checksum agrees and it says that it belongs exactly where it was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sprocketmq.errors import BodyError
from sprocketmq.protocol.record.record import MAGIC_V1, MAGIC_V2, WHOLE, check_record, decode_record
from sprocketmq.store.files.bad_pages import BAD_PAGES
from sprocketmq.store.files.files import File
from sprocketmq.store.files.layout import is_topic_name

_CHUNK = 4 << 20
_MAGICS = (MAGIC_V1.to_bytes(4, "big", signed=True), MAGIC_V2.to_bytes(4, "big", signed=True))
_COMMON = _MAGICS[0][:3]


class FoundRecord(NamedTuple):
    commit_offset: int
    size: int


def records_behind(file: File, view: memoryview, base: int, start: int) -> Iterator[FoundRecord]:
    """Whole records of a log file from position `start` on, wherever they begin; holes are not looked at."""
    for low, high in file.data_ranges(start, file.size):
        at = max(low - 4, start)  # its size may be in the hole before
        while (at := _next_magic(view, at, high)) >= 0:
            found = record_at(view, base, at)
            if found is None:
                at += 1
            else:
                yield found
                at += found.size


def record_at(view: memoryview, base: int, at: int) -> FoundRecord | None:
    kind, size = check_record(view, at, len(view))
    BAD_PAGES.check()
    if kind != WHOLE or int.from_bytes(view[at + 28 : at + 36], "big") != base + at:
        return None
    try:
        return FoundRecord(base + at, size) if is_topic_name(topic_and_place(view, at)[0]) else None
    except BodyError:
        return None


def _next_magic(view: memoryview, at: int, end: int) -> int:
    """The next position whose bytes 4 to 8 are a record's magic; -1 when there is none."""
    while at < end:
        chunk = bytes(view[at + 4 : min(at + 4 + _CHUNK, end + 8)])
        BAD_PAGES.check()
        here = chunk.find(_COMMON)
        while here >= 0:
            if chunk[here : here + 4] in _MAGICS:
                return at + here
            here = chunk.find(_COMMON, here + 1)
        at += max(len(chunk) - 3, 1) if len(chunk) == _CHUNK else end
    return -1


def topic_and_place(view: memoryview, at: int) -> tuple[str, int, int, int, int]:
    """(topic, queue id, queue offset, sys flag, store timestamp) of the record at a position."""
    record = decode_record(view, at, check_crc=False)
    BAD_PAGES.check()
    return record.topic, record.queue_id, record.queue_offset, record.sys_flag, record.store_timestamp
