# cython: annotation_typing=False
"""CRC-32 over a slice of raw memory.

Compiled, whole blocks of sixteen bytes are folded where the processor can multiply without carries, and what is left
goes through tables. Where it cannot, a short slice goes through the tables, sixteen bytes at a step, and a long one to
`zlib.crc32`: calling that costs as much as a hundred bytes, but from a kilobyte on it is the faster one all the same.

Java stores the sum without its sign bit; `body_crc` does the same.
"""

from __future__ import annotations

import zlib

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.crc32 import can_fold, folded_blocks
    from sprocketmq.hot.octets import Octets, le32, window

    BLOCK = 16
    LONG = 1024

POLYNOMIAL = 0xEDB88320
ONES = 0xFFFFFFFF


def body_crc(data: bytes, is_portable: bool = False) -> int:
    """The checksum that a record keeps of `data`; `is_portable` passes over the processor's own instructions."""
    whole = portable(0, data, 0, len(data)) if is_portable else crc_of(data, 0, len(data))
    return whole & 0x7FFFFFFF


def crc_of(p: Octets, at: int, length: int) -> int:
    return crc_on(0, p, at, length)


def crc_on(before: int, p: Octets, at: int, length: int) -> int:
    """The sum goes on from that of the bytes before."""
    if length >= BLOCK and can_fold():
        blocks = length // BLOCK * BLOCK
        return sliced(folded_blocks(before, p, at, blocks), p, at + blocks, length - blocks)
    return portable(before, p, at, length)


def portable(before: int, p: Octets, at: int, length: int) -> int:
    if not cython.compiled or length >= LONG:
        return zlib.crc32(window(p, at, at + length), before)
    return sliced(before, p, at, length)


def sliced(before: int, p: Octets, at: int, length: int) -> int:
    """Slicing by sixteen: each step folds four words through four tables each."""
    end = at + length
    crc = before ^ ONES
    while end - at >= 16:
        crc = (
            folded(crc ^ le32(p, at), 12) ^ folded(le32(p, at + 4), 8)
            ^ folded(le32(p, at + 8), 4) ^ folded(le32(p, at + 12), 0)
        )  # fmt: skip
        at += 16
    while at < end:
        crc = TABLE[0][(crc ^ p[at]) & 0xFF] ^ crc >> 8
        at += 1
    return crc ^ ONES


def folded(word: int, table: int) -> int:
    # `word` is 32 bits wide and unsigned in C: what `>> 24` leaves is one byte, and never negative.
    return (
        TABLE[table + 3][word & 0xFF] ^ TABLE[table + 2][word >> 8 & 0xFF]
        ^ TABLE[table + 1][word >> 16 & 0xFF] ^ TABLE[table][word >> 24]
    )  # fmt: skip


def fill_table() -> None:
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        TABLE[0][byte] = crc
    for step in range(1, 16):
        for byte in range(256):
            crc = TABLE[step - 1][byte]
            TABLE[step][byte] = TABLE[0][crc & 0xFF] ^ crc >> 8


if not cython.compiled:
    TABLE = [[0] * 256 for _ in range(16)]
fill_table()
