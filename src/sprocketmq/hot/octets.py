"""Big-endian numbers and slices in a run of bytes: the few words that the codecs are written in.

A hot module uses these names for both of its forms. Interpreted they are the functions here; compiled they are the
inline functions of `octets.pxd`, where `p` is a bare pointer. Neither form checks bounds: the caller has.

`blank` gives room to be filled by the `put` functions, and `seal` turns it into the bytes that leave the module.
"""

from __future__ import annotations

import re
import struct
from typing import Any

_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")
_I32_TWICE = struct.Struct(">ii")
_LE32 = struct.Struct("<i")
_LE64 = struct.Struct("<q")

_NOT_PLAIN = re.compile(rb'[\x00-\x1f"\\]')

#: What a pointer is while interpreted: bytes, bytearray, memoryview or mmap.
Octets = Any


def i16(p: Octets, at: int) -> int:
    value: int = _I16.unpack_from(p, at)[0]
    return value


def i32(p: Octets, at: int) -> int:
    value: int = _I32.unpack_from(p, at)[0]
    return value


def i64(p: Octets, at: int) -> int:
    value: int = _I64.unpack_from(p, at)[0]
    return value


def window(p: Octets, at: int, end: int) -> memoryview:
    """The bytes as they lie there; to be used while `p` lasts."""
    return memoryview(p)[at:end]


def cut(p: Octets, at: int, end: int) -> bytes:
    return bytes(p[at:end])


def text(p: Octets, at: int, end: int) -> str:
    """Raises UnicodeDecodeError, a ValueError, where the bytes are not UTF-8."""
    return bytes(p[at:end]).decode()


def is_ascii(p: Octets, at: int, end: int) -> bool:
    return bytes(p[at:end]).isascii()


def is_utf8(p: Octets, at: int, end: int) -> bool:
    try:
        text(p, at, end)
    except ValueError:
        return False
    return True


def plain_end(p: Octets, at: int, end: int) -> int:
    """Where the first byte in [at, end) is that a JSON string cannot hold as it is: a quote, a backslash, a control."""
    found = _NOT_PLAIN.search(p, at, end)
    return end if found is None else found.start()


def find(p: Octets, byte: int, at: int, end: int) -> int:
    """Where `byte` is first found in [at, end), or -1."""
    found = bytes(p[at:end]).find(byte)  # the slice alone: `p` may be a whole mapped file
    return found if found < 0 else at + found


def same(p: Octets, at: int, q: Octets, q_at: int, length: int) -> bool:
    return bytes(p[at : at + length]) == bytes(q[q_at : q_at + length])


def compared(p: Octets, at: int, q: Octets, q_at: int, length: int) -> int:
    """Below, at or above zero as the bytes of `p` come before, are the same as, or come after those of `q`."""
    one, other = bytes(p[at : at + length]), bytes(q[q_at : q_at + length])
    return (one > other) - (one < other)


def blank(size: int) -> bytearray:
    return bytearray(size)


def seal(filled: bytes | bytearray) -> bytes:
    return bytes(filled)


def resize(room: bytearray, size: int) -> None:
    """Make it `size` bytes long; what is new holds anything, and a pointer into it is worth nothing afterwards."""
    del room[size:]
    room.extend(bytes(size - len(room)))


def put_i16(p: Octets, at: int, value: int) -> None:
    _I16.pack_into(p, at, (value + 0x8000 & 0xFFFF) - 0x8000)


def put_i32(p: Octets, at: int, value: int) -> None:
    _I32.pack_into(p, at, value)


def put_hex16(p: Octets, at: int, value: int) -> None:
    """Four hex digits, in capitals."""
    p[at : at + 4] = b"%04X" % value


def put_i64(p: Octets, at: int, value: int) -> None:
    _I64.pack_into(p, at, value)


def put_i64_hex(p: Octets, at: int, value: int) -> None:
    """Sixteen upper-case hex digits of a number that is not negative."""
    p[at : at + 16] = b"%016X" % value


def put_last(p: Octets, at: int, first: int, second: int) -> None:
    """Two numbers of four bytes in one store, after everything that was put before; of use where `p` is shared."""
    _I32_TWICE.pack_into(p, at, first, second)


def put(p: Octets, at: int, q: Octets, q_at: int, length: int) -> None:
    p[at : at + length] = q[q_at : q_at + length]


def put_near(p: Octets, at: int, q: Octets, q_at: int, length: int, q_end: int) -> None:
    """As `put`, and may spoil what follows: there must be room for sixteen bytes. `q` can be read up to `q_end`."""
    p[at : at + length] = q[q_at : q_at + length]


def le32(p: Octets, at: int) -> int:
    """The machine's own order, which is little-endian wherever we run: Arrow's, not the wire's."""
    value: int = _LE32.unpack_from(p, at)[0]
    return value


def le64(p: Octets, at: int) -> int:
    value: int = _LE64.unpack_from(p, at)[0]
    return value


def put_le32(p: Octets, at: int, value: int) -> None:
    _LE32.pack_into(p, at, value)


def put_le64(p: Octets, at: int, value: int) -> None:
    _LE64.pack_into(p, at, value)
