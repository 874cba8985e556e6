"""Bloom bits as RocketMQ computes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sprocketmq.filter.bloom import BloomData, BloomFilter, has_bits, set_bits
from sprocketmq.filter.murmur_hash import murmur3_low64

HASHES = Path(__file__).resolve().parents[2] / "data" / "golden" / "hashes.json"


def test_every_recorded_position_and_map() -> None:
    golden = json.loads(HASHES.read_text(encoding="utf-8"))["bloomFilter"]
    bloom = BloomFilter(golden["errorRatePercent"], golden["expected"])
    assert (bloom.hash_count, bloom.bit_count) == (golden["k"], golden["m"])
    for case in golden["cases"]:
        assert murmur3_low64(case["string"].encode()) == case["murmur3_128_asLong"] % 2**64
        assert bloom.positions(case["string"]) == tuple(case["bitPositions"])
        bits = bloom.empty_map()
        set_bits(bits, case["bitPositions"])
        assert bits.hex() == case["bitsHex"]
        assert has_bits(bits, case["bitPositions"])


@pytest.mark.parametrize(
    ("error_percent", "expected", "hash_count", "bit_count"),
    [
        (1, 7, 7, 72),
        (1, 1000, 7, 9592),
        (5, 32, 5, 200),
        (10, 1, 4, 8),
        (20, 7, 3, 24),
        (20, 128, 3, 432),
        (37, 1000, 2, 2072),
        (50, 100, 1, 152),
        (99, 32, 1, 8),
        (99, 1000, 1, 24),
    ],
)
def test_sizes(error_percent: int, expected: int, hash_count: int, bit_count: int) -> None:
    bloom = BloomFilter(error_percent, expected)
    assert (bloom.hash_count, bloom.bit_count) == (hash_count, bit_count)


def test_defaults_are_those_of_a_broker() -> None:
    bloom = BloomFilter()
    assert (bloom.hash_count, bloom.bit_count) == (3, 112)
    assert bloom.data("GID_sql", "OrderEvents") == BloomData((1, 45, 89), 112)


def test_a_missing_bit_is_certain() -> None:
    bits = BloomFilter().empty_map()
    set_bits(bits, (1, 45))
    assert not has_bits(bits, (1, 45, 89))
    assert has_bits(bits, (45,))


@pytest.mark.parametrize(("error_percent", "expected"), [(0, 32), (100, 32), (20, 0)])
def test_impossible_sizes(error_percent: int, expected: int) -> None:
    with pytest.raises(ValueError, match="no bloom filter"):
        BloomFilter(error_percent, expected)
