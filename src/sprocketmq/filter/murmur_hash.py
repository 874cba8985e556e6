"""MurmurHash3, the x64 variant with 128 bits and seed 0, of which bloom filters use the first half."""

from __future__ import annotations

import struct

_MASK = 0xFFFF_FFFF_FFFF_FFFF
_C1 = 0x87C3_7B91_1142_53D5
_C2 = 0x4CF5_AD43_2745_937F


def murmur3_low64(data: bytes) -> int:
    """The first 64 of the 128 bits, unsigned."""
    h1 = h2 = 0
    whole = len(data) & ~15
    for k1, k2 in struct.iter_unpack("<QQ", data[:whole]):
        h1 = _rotated(h1 ^ _mixed_1(k1), 27) + h2
        h1 = (h1 * 5 + 0x52DC_E729) & _MASK
        h2 = _rotated(h2 ^ _mixed_2(k2), 31) + h1
        h2 = (h2 * 5 + 0x3849_5AB5) & _MASK
    tail = data[whole:]
    h1 ^= _mixed_1(int.from_bytes(tail[:8], "little")) ^ len(data)
    h2 ^= _mixed_2(int.from_bytes(tail[8:], "little")) ^ len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return (_final(h1) + _final(h2)) & _MASK


def _mixed_1(k: int) -> int:
    return _rotated(k * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_2(k: int) -> int:
    return _rotated(k * _C2 & _MASK, 33) * _C1 & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _final(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51_AFD7_ED55_8CCD & _MASK
    h = (h ^ h >> 33) * 0xC4CE_B9FE_1A85_EC53 & _MASK
    return h ^ h >> 33
