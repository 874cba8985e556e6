"""Bloom bits of consumer groups, as `consumerFilter.json` and ConsumeQueueExt units hold them.

While a message is dispatched, the broker applies the SQL92 expressions of all groups of its topic and sets, for each
that matches, the bits of `group#topic` in the unit's bit map. A pull then skips, without reading the message, where one
of its group's bits is not set.

    bit i of a map := byte i / 8, value 1 << i % 8
    positions      := |hash1 + n * hash2| mod bits, n = 1 .. hash count      hash1, hash2: halves of a murmur hash
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sprocketmq.filter.murmur_hash import murmur3_low64


@dataclass(frozen=True, slots=True)
class BloomData:
    """The bits of one group and topic: `bitPos` and `bitNum` in consumerFilter.json."""

    positions: tuple[int, ...]
    bit_count: int


class BloomFilter:
    """The sizes that follow from how many groups are expected and which share of false hits is borne."""

    __slots__ = ("bit_count", "error_percent", "expected", "hash_count")

    def __init__(self, error_percent: int = 20, expected: int = 32) -> None:
        if not 1 <= error_percent < 100 or expected < 1:
            raise ValueError(f"no bloom filter has {error_percent} % errors for {expected} groups")
        self.error_percent = error_percent
        self.expected = expected
        rate = error_percent / 100
        self.hash_count = math.ceil(math.log(rate) / math.log(0.5))
        bits = math.ceil(expected * (math.log(1 / rate) / math.log(2)) * (math.log(math.e) / math.log(2)))
        self.bit_count = -(-bits // 8) * 8

    def data(self, group: str, topic: str) -> BloomData:
        return BloomData(self.positions(f"{group}#{topic}"), self.bit_count)

    def positions(self, text: str) -> tuple[int, ...]:
        low, high = divmod(murmur3_low64(text.encode("utf-8", "replace")), 2**32)[::-1]
        return tuple(self._position(low + n * high) for n in range(1, self.hash_count + 1))

    def _position(self, combined: int) -> int:
        """In 32-bit arithmetic; a negative sum is turned into its complement."""
        combined &= 0xFFFF_FFFF
        return (combined ^ 0xFFFF_FFFF if combined & 0x8000_0000 else combined) % self.bit_count

    def empty_map(self) -> bytearray:
        return bytearray(self.bit_count // 8)


def set_bits(bit_map: bytearray, positions: Iterable[int]) -> None:
    for position in positions:
        bit_map[position >> 3] |= 1 << (position & 7)


def has_bits(bit_map: bytes | bytearray | memoryview, positions: Iterable[int]) -> bool:
    """False is certain; True may be the doing of other groups."""
    return all(bit_map[position >> 3] & 1 << (position & 7) for position in positions)
