from __future__ import annotations

from sprocketmq.protocol.bodies.pop import BatchAck


def test_bits_stand_for_offsets() -> None:
    assert list(BatchAck(start_offset=100, bit_set=bytes([0b101, 0, 0b1])).offsets()) == [100, 102, 116]
    assert list(BatchAck(start_offset=100).offsets()) == []
