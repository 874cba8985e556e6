"""The bytes of an IndexFile.

file   := header slots entries
header := begin_timestamp:i64 end_timestamp:i64 begin_offset:i64 end_offset:i64 used_slots:i32 index_count:i32
slot   := newest:i32                     the number of the newest entry whose hash falls here, 0 for none
entry  := key_hash:i32 commit_offset:i64 seconds:i32 previous:i32

`index_count` starts at 1 because entry 0 is never used; the next entry is written at that number. `seconds`
counts from the begin timestamp, `previous` is the next older entry of the same slot.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

HEADER_SIZE = 40
SLOT_SIZE = 4
INDEX_ENTRY_SIZE = 20
HEADER = struct.Struct(">qqqqii")
INDEX_ENTRY = struct.Struct(">iqii")


@dataclass(frozen=True, slots=True)
class IndexHeader:
    begin_timestamp: int
    end_timestamp: int
    begin_offset: int
    end_offset: int
    used_slots: int
    index_count: int


class IndexEntry(NamedTuple):
    key_hash: int
    commit_offset: int
    seconds: int
    previous: int


def index_file_size(hash_slots: int, index_num: int) -> int:
    return HEADER_SIZE + hash_slots * SLOT_SIZE + index_num * INDEX_ENTRY_SIZE


def decode_index_header(data: bytes | memoryview) -> IndexHeader:
    begin_ts, end_ts, begin, end, used, count = HEADER.unpack_from(data)
    return IndexHeader(begin_ts, end_ts, begin, end, used, max(count, 1))


def slot_at(slot: int) -> int:
    return HEADER_SIZE + slot * SLOT_SIZE


def entry_at(number: int, hash_slots: int) -> int:
    return HEADER_SIZE + hash_slots * SLOT_SIZE + number * INDEX_ENTRY_SIZE


def decode_index_entry(data: bytes | memoryview, number: int, hash_slots: int) -> IndexEntry:
    return IndexEntry(*INDEX_ENTRY.unpack_from(data, entry_at(number, hash_slots)))
