"""The version of a broker's tables; whoever holds a copy compares it to know when the copy is old."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class DataVersion:
    """Every change raises the counter; two versions that are equal stand for equal tables."""

    state_version: Long = wire("stateVersion", default=0)
    timestamp: Long = wire("timestamp", default=0)
    counter: Long = wire("counter", default=0)

    def next(self, now_ms: int) -> DataVersion:
        return DataVersion(state_version=self.state_version, timestamp=now_ms, counter=self.counter + 1)
