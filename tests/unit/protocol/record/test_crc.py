from __future__ import annotations

import random
import zlib

import pytest

from sprocketmq.protocol.record.crc import body_crc

DATA = random.Random(8).randbytes(70_000)
#: Around the ends of blocks of 16, of the four that are folded side by side, and of what goes to zlib.
LENGTHS = (*range(200), 255, 256, 257, 1008, 1023, 1024, 1025, 4096, 4111, 65_536, 65_551)


@pytest.mark.parametrize("is_portable", [False, True], ids=["processor", "portable"])
def test_the_sum_is_that_of_zlib_without_its_sign(is_portable: bool) -> None:
    for length in LENGTHS:
        for start in (0, 1, 15):  # wherever it lies in memory
            data = DATA[start : start + length]
            assert body_crc(data, is_portable) == zlib.crc32(data) & 0x7FFFFFFF, (start, length)


def test_a_bit_anywhere_changes_it() -> None:
    data = bytearray(DATA[:300])
    whole = zlib.crc32(data)
    for bit in range(len(data) * 8):
        data[bit // 8] ^= 1 << bit % 8
        assert body_crc(bytes(data)) == zlib.crc32(data) & 0x7FFFFFFF
        data[bit // 8] ^= 1 << bit % 8
    assert body_crc(bytes(data)) == whole & 0x7FFFFFFF
