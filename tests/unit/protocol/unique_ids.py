"""A unique id, taken apart, see `protocol/record/ids.py`."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from sprocketmq.protocol.record.ids import month_start_ms

_TAIL = struct.Struct(">HIIH")


@dataclass(frozen=True, slots=True)
class UniqueId:
    address: bytes
    pid: int
    instance: int
    millis: int
    counter: int

    def born_ms(self, now_ms: int) -> int:
        """When it was made. The id holds no month: it is the last one for which that is not in the future."""
        born = month_start_ms(now_ms) + self.millis
        return born if born <= now_ms else month_start_ms(month_start_ms(now_ms) - 1) + self.millis


def decode_unique_id(unique_id: str) -> UniqueId:
    raw = bytes.fromhex(unique_id)
    address = raw[: -_TAIL.size]
    return UniqueId(address, *_TAIL.unpack(raw[len(address) :]))
