# cython: annotation_typing=False
"""The buffers of Arrow columns, filled from the rows of a run without a Python object per record.

A column of numbers is one buffer, which `room` allocates: Arrow's own memory pool. Each function makes one column in
one loop. Compiled, `source` is the bare address of `data`: `data[0]` must be there, so an empty run is passed over
first, and the argument keeps the bytes for as long as the loop runs.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.protocol.arrow.rows import Rows
from sprocketmq.protocol.arrow.text_column import Room, TextColumn

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, i32, i64, le64, put, put_le32, put_le64, same
    from sprocketmq.protocol.arrow.rows import AT, BODY_AT, BODY_END, ROW_BYTES, STORE_TIME_AT, SYS_FLAG
    from sprocketmq.protocol.arrow.text_column import pointer
    from sprocketmq.protocol.record.sysflag import STORE_HOST_V6

MAX_COLUMN_BYTES = 0x7FFFFFFF  # what int32 offsets reach

_HEX = b"0123456789abcdef"
_UPPER_HEX = b"0123456789ABCDEF"


def numbers_32(data: Octets, rows: Rows, anchor: int, distance: int, room: Room) -> Any:
    """The int32 that lies `distance` bytes from the row's place named by `anchor`."""
    out = room(rows.count * 4)
    p, places = pointer(out), rows.places
    if rows.count:
        source = cython.address(data[0]) if cython.compiled else data
        for row in range(rows.count):
            put_le32(p, row * 4, i32(source, le64(places, row * ROW_BYTES + anchor) + distance))
    return out


def numbers_64(data: Octets, rows: Rows, anchor: int, distance: int, room: Room) -> Any:
    out = room(rows.count * 8)
    p, places = pointer(out), rows.places
    if rows.count:
        source = cython.address(data[0]) if cython.compiled else data
        for row in range(rows.count):
            put_le64(p, row * 8, i64(source, le64(places, row * ROW_BYTES + anchor) + distance))
    return out


def micros(data: Octets, rows: Rows, anchor: int, distance: int, room: Room) -> Any:
    """Milliseconds as microseconds; what 64 bits cannot hold stays at their end."""
    out = room(rows.count * 8)
    p, places = pointer(out), rows.places
    limit = 9223372036854775
    if rows.count:
        source = cython.address(data[0]) if cython.compiled else data
        for row in range(rows.count):
            value = i64(source, le64(places, row * ROW_BYTES + anchor) + distance)
            if value > limit:
                value = limit
            elif value < -limit:
                value = -limit
            put_le64(p, row * 8, value * 1000)
    return out


def slices(
    data: Octets, rows: Rows, begin: int, end: int, room: Room, replaced: dict[int, bytes] | None = None
) -> tuple[Any, Any]:
    """(offsets, data) of the bytes between two places of each row, or of what replaces them in some rows."""
    count = rows.count
    text = TextColumn(count, total_size(rows, begin, end, replaced), False, room)
    places = rows.places
    if count:
        source = cython.address(data[0]) if cython.compiled else data
        for row in range(count):
            if replaced is not None and row in replaced:
                other = replaced[row]
                text.append(other, 0, len(other))
            else:
                at = le64(places, row * ROW_BYTES + begin)
                text.append(source, at, le64(places, row * ROW_BYTES + end) - at)
    return text.offsets, text.data


def total_size(rows: Rows, begin: int, end: int, replaced: dict[int, bytes] | None) -> int:
    total = 0
    places = rows.places
    for row in range(rows.count):
        if replaced is not None and row in replaced:
            total += len(replaced[row])
        else:
            total += le64(places, row * ROW_BYTES + end) - le64(places, row * ROW_BYTES + begin)
    if total > MAX_COLUMN_BYTES:
        raise ValueError(f"{total} bytes in one column: take a shorter run")
    return total


def hosts(data: Octets, rows: Rows, anchor: int, distance: int, v6_bit: int, room: Room) -> tuple[Any, Any]:
    """Hosts as text, `1.2.3.4:5` or `[1:2:3:4:5:6:7:8]:9`; the longest has fifty-three characters."""
    count = rows.count
    text = TextColumn(count, count * 53, False, room)
    p, places = text.p, rows.places
    here = last = last_at = last_size = length = 0
    if count:
        source = cython.address(data[0]) if cython.compiled else data
        for row in range(count):
            at = le64(places, row * ROW_BYTES + anchor) + distance
            size = 20 if le64(places, row * ROW_BYTES + SYS_FLAG) & v6_bit else 8
            if size == last_size and same(source, at, source, last_at, size):  # most often it is the same again
                put(p, here, p, last, length)
            else:
                length = (put_v6(p, here, source, at) if size == 20 else put_v4(p, here, source, at)) - here
            last, last_at, last_size = here, at, size
            here += length
            text.ends(here)
    return text.offsets, text.data


def put_v4(p: Octets, here: int, source: Octets, at: int) -> int:
    for index in range(4):
        here = put_decimal(p, here, source[at + index])
        p[here] = 46 if index < 3 else 58  # a dot, then a colon
        here += 1
    return put_decimal(p, here, i32(source, at + 4))


def put_v6(p: Octets, here: int, source: Octets, at: int) -> int:
    p[here] = 91
    here += 1
    for index in range(8):
        here = put_group(p, here, source[at + 2 * index] << 8 | source[at + 2 * index + 1])
        p[here] = 58
        here += 1
    p[here - 1] = 93
    p[here] = 58
    return put_decimal(p, here + 1, i32(source, at + 16))


def put_group(p: Octets, here: int, group: int) -> int:
    """Hexadecimal without leading zeros."""
    shift = 12
    while shift > 0 and group >> shift == 0:
        shift -= 4
    while shift >= 0:
        p[here] = _HEX[group >> shift & 15]
        here += 1
        shift -= 4
    return here


def put_decimal(p: Octets, here: int, value: int) -> int:
    if value < 0:
        p[here] = 45
        return put_decimal(p, here + 1, -value)
    length, rest = 1, value
    while rest > 9:
        rest //= 10
        length += 1
    end = here + length
    while length > 0:
        length -= 1
        p[here + length] = 48 + value % 10
        value //= 10
    return end


def message_ids(data: Octets, rows: Rows, room: Room) -> tuple[Any, Any]:
    """Offset message ids: store host and commit offset in upper-case hexadecimal."""
    count = rows.count
    text = TextColumn(count, count * 56, False, room)
    p, places = text.p, rows.places
    here = last = last_at = last_size = 0
    if count:
        source = cython.address(data[0]) if cython.compiled else data
        for row in range(count):
            at = le64(places, row * ROW_BYTES + AT)
            host_at = le64(places, row * ROW_BYTES + STORE_TIME_AT) + 8
            size = 20 if le64(places, row * ROW_BYTES + SYS_FLAG) & STORE_HOST_V6 else 8
            if size == last_size and same(source, host_at, source, last_at, size):
                put(p, here, p, last, size * 2)
            else:
                put_hex(p, here, source, host_at, size)
            last, last_at, last_size = here, host_at, size
            here = put_hex(p, here + size * 2, source, at + 28, 8)
            text.ends(here)
    return text.offsets, text.data


def put_hex(p: Octets, here: int, source: Octets, at: int, length: int) -> int:
    for index in range(at, at + length):
        p[here] = _UPPER_HEX[source[index] >> 4]
        p[here + 1] = _UPPER_HEX[source[index] & 15]
        here += 2
    return here


def compressed_rows(rows: Rows, bit: int) -> list[tuple[int, int, int, int]]:
    """(row, body_at, body_end, sys_flag) of the rows whose sys_flag has `bit`."""
    found: list[tuple[int, int, int, int]] = []
    places = rows.places
    for row in range(rows.count):
        here = row * ROW_BYTES
        sys_flag = le64(places, here + SYS_FLAG)
        if sys_flag & bit:
            found.append((row, le64(places, here + BODY_AT), le64(places, here + BODY_END), sys_flag))
    return found
