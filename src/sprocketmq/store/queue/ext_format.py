"""The bytes of a ConsumeQueueExt file: what does not fit into a 20-byte queue entry.

unit := size:i16 tags_code:i64 store_timestamp:i64 bitmap_length:i16 bitmap       size = 20 + bitmap_length
end  := -1:i16                                                                    the rest is in the next file

A unit is named by its address, the byte offset of its first byte plus the smallest 64-bit number, so that no
address is ever a tag's hash.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

UNIT_HEAD = struct.Struct(">hqqh")
END = struct.pack(">h", -1)
END_ROOM = 4  # kept free at a file's end for the end mark
MAX_UNIT_SIZE = 32767
_ADDRESS_BASE = -(1 << 63)
EXT_ADDRESS_MAX = -2147483649


class ExtUnit(NamedTuple):
    tags_code: int
    store_timestamp: int
    bitmap: bytes

    @property
    def size(self) -> int:
        return UNIT_HEAD.size + len(self.bitmap)


def ext_address(offset: int) -> int:
    return offset + _ADDRESS_BASE


def ext_offset(address: int) -> int:
    return address - _ADDRESS_BASE


def is_ext_address(tags_code: int) -> bool:
    return tags_code <= EXT_ADDRESS_MAX


def encode_unit(unit: ExtUnit) -> bytes:
    if unit.size > MAX_UNIT_SIZE:
        raise ValueError(f"a unit of {unit.size} bytes is above {MAX_UNIT_SIZE}")
    return UNIT_HEAD.pack(unit.size, unit.tags_code, unit.store_timestamp, len(unit.bitmap)) + unit.bitmap


def decode_unit(data: bytes | memoryview, at: int = 0) -> ExtUnit | None:
    """The unit at `at`; None where no whole one is."""
    if at + UNIT_HEAD.size > len(data):
        return None
    size, tags_code, store_timestamp, bitmap_length = UNIT_HEAD.unpack_from(data, at)
    if bitmap_length < 0 or size != UNIT_HEAD.size + bitmap_length or at + size > len(data):
        return None
    start = at + UNIT_HEAD.size
    return ExtUnit(tags_code, store_timestamp, bytes(data[start : start + bitmap_length]))
