"""The bytes of a ConsumeQueue file.

entry := commit_offset:i64 size:i32 tags_code:i64                   20 bytes; queue offset n is entry n

The end of a queue is the first entry whose size is not above zero. Entries before the first real one, in a queue
that does not begin at 0, are fillers {0, 0x7FFFFFFF, 0}. A tags code at or below EXT_ADDRESS_MAX is no hash but the
address of a ConsumeQueueExt unit.

A power cut can tear an entry that lies in two sectors of the disk: one part is there, the other reads as zeros.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

ENTRY_SIZE = 20
ENTRY = struct.Struct(">qiq")
_PAGE_ENTRIES = 4096 // ENTRY_SIZE
SECTOR = 512  # what a disk writes whole
FILLER_SIZE = 0x7FFFFFFF
FILLER = ENTRY.pack(0, FILLER_SIZE, 0)


class QueueEntry(NamedTuple):
    commit_offset: int
    size: int
    tags_code: int

    @property
    def is_filler(self) -> bool:
        return self.commit_offset == 0 and self.size == FILLER_SIZE

    @property
    def is_written(self) -> bool:
        return self.commit_offset >= 0 and self.size > 0


def decode_entry(data: bytes | bytearray | memoryview, at: int = 0) -> QueueEntry:
    return QueueEntry(*ENTRY.unpack_from(data, at))


def written_entries(data: bytes | memoryview) -> int:
    """How many entries at the front of a queue file are written.

    They are contiguous, so doubling and then halving finds the end, and a short queue shows it in its first page.
    """
    low, high, total = 0, 1, len(data) // ENTRY_SIZE
    while high <= total and decode_entry(data, (high - 1) * ENTRY_SIZE).is_written:
        low, high = high, max(high * 2, _PAGE_ENTRIES)
    high = min(high, total)
    while low < high:
        middle = (low + high) // 2
        if decode_entry(data, middle * ENTRY_SIZE).is_written:
            low = middle + 1
        else:
            high = middle
    return low
