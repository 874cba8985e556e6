"""What one process grants its peers. Every buffer, table and wait in `remoting` has its bound here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sprocketmq.protocol.frame.decoder import MAX_FRAME_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    #: Connections at once; one more is closed as soon as it is made.
    max_connections: int = 50_000
    #: Of one address; this machine, and brokers where they are known, are not held to it.
    max_connections_per_address: int = 1024
    #: Of all connections, so many are kept for this machine: an administrator gets through.
    local_connections: int = 32
    #: Requests of one connection that wait for their answers (a long poll waits too); one more is answered "busy".
    max_in_flight: int = 65_536
    #: What the requests of one read may take before others have a turn: far more than a turn of the loop costs. One
    #: that takes a good part of it by itself is the last of its turn.
    read_share_seconds: float = 0.0005
    #: What the costly requests of one address may take of the loop's time; its connections rest beyond (costs.py).
    costly_part: float = 0.01
    #: A longer frame is not the protocol.
    max_frame_bytes: int = MAX_FRAME_BYTES
    #: Nor is a longer header. Real ones hold an expression of 64 KiB at most, or 32 KiB of properties that are escaped.
    max_header_bytes: int = 128 * 1024
    #: Frames of all connections that have begun and are not whole: above this the largest of them goes.
    max_unfinished_bytes: int = 256 * 1024 * 1024
    #: A connection with no traffic for so long is closed, as Java servers do.
    idle_seconds: float = 120.0
    #: A frame that has begun must be whole within this time; servers have less patience (config.py).
    frame_seconds: float = 60.0
    #: So must a TLS handshake, which counts as a connection all the while.
    handshake_seconds: float = 10.0
    #: Answers that the peer has not read: above this, its requests are no longer read ...
    write_pause_bytes: int = 1024 * 1024
    #: ... above this (answers that were promised earlier come on top), it is dropped ...
    write_max_bytes: int = 32 * 1024 * 1024
    #: ... and those who have the most, when the unread answers of all take more than this ...
    max_unread_bytes: int = 512 * 1024 * 1024
    #: ... and after so long without room it is dropped as well.
    write_stall_seconds: float = 30.0
    #: How often the waits above are looked at: one scan for all connections, no timer for each.
    scan_seconds: float = 1.0


@dataclass(slots=True)
class UseByAddress:
    """What all peers have of something together. One address takes at most half of it: others find some left."""

    used: int = 0
    _of_address: Counter[str] = field(default_factory=Counter)

    def of(self, address: str) -> int:
        return self._of_address[address]

    def has_room(self, address: str, most: int, more: int = 1) -> bool:
        return self.used + more <= most and self._of_address[address] + more <= most // 2

    def take(self, address: str, more: int = 1) -> None:
        self.used += more
        self._of_address[address] += more

    def give_back(self, address: str, less: int = 1) -> None:
        self.used -= less
        self._of_address[address] -= less
        if not self._of_address[address]:
            del self._of_address[address]
