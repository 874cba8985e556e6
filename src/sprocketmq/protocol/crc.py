# cython: annotation_typing=False
"""CRC-32 over a slice of raw memory, eight bytes at a step when compiled, `zlib.crc32` when not.

Java stores it without its sign bit; `body_crc` does the same.
"""

from __future__ import annotations

import zlib

try:
    import cython
except ImportError:
    from sprocketmq import _shadow as cython

if not cython.compiled:
    from sprocketmq.protocol.octets import Octets

POLYNOMIAL = 0xEDB88320
ONES = 0xFFFFFFFF


def body_crc(data: bytes) -> int:
    """The checksum that a record keeps of `data`."""
    return crc_of(data, 0, len(data)) & 0x7FFFFFFF


def crc_of(p: Octets, at: int, length: int) -> int:
    if not cython.compiled:
        return zlib.crc32(p[at : at + length])
    return sliced(p, at, length)


def sliced(p: Octets, at: int, length: int) -> int:
    """Slicing by eight: each step folds eight bytes through eight tables."""
    end = at + length
    crc = ONES
    while end - at >= 8:
        crc ^= p[at] | p[at + 1] << 8 | p[at + 2] << 16 | p[at + 3] << 24
        crc = (
            TABLE[7][crc & 0xFF] ^ TABLE[6][crc >> 8 & 0xFF] ^ TABLE[5][crc >> 16 & 0xFF] ^ TABLE[4][crc >> 24]
            ^ TABLE[3][p[at + 4]] ^ TABLE[2][p[at + 5]] ^ TABLE[1][p[at + 6]] ^ TABLE[0][p[at + 7]]
        )  # fmt: skip
        at += 8
    while at < end:
        crc = TABLE[0][(crc ^ p[at]) & 0xFF] ^ crc >> 8
        at += 1
    return crc ^ ONES


def fill_table() -> None:
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        TABLE[0][byte] = crc
    for step in range(1, 8):
        for byte in range(256):
            crc = TABLE[step - 1][byte]
            TABLE[step][byte] = TABLE[0][crc & 0xFF] ^ crc >> 8


if not cython.compiled:
    TABLE = [[0] * 256 for _ in range(8)]
fill_table()
