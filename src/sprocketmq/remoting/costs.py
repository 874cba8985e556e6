"""Whoever has cost a server much for nothing is not read for a while, so that nobody keeps it busy.

Turns (turns.py) let others in between; but a machine whose processors are all taken makes everybody wait. So what is
beside a server's purpose, or far beyond what clients need, is charged to the address that it came from:

    long requests      locks, heartbeats: what they take beyond the first share of a turn
    long expressions   of a pull that brings one nobody has sent before: what it takes to compile
    large frames       that end in a refusal, or never: their bytes
    one too many       whatever is refused because a limit is met (`TooMany`): a price
    damage             what is no frame, or no request: the same
    TLS                a handshake that no request follows; records that bring no frames: what they take

Sends and pulls that are served are never charged, however many they are, and neither are small requests that are
refused for another reason, nor large ones that the server would take from nobody now, say for its disk is full. An
address has a part of the loop's time for such things, and some time's worth at once. When that is used up, those of its
connections that are charged rest until it is earned again; the others go on, but for large frames and handshakes.

A long request takes time of the processor (`thread_time_ns`): what others take of a busy machine is not its fault.
"""

from __future__ import annotations

#: Seconds of the loop that an address may cost at once, when it was quiet for a while: a fleet of consumers behind one
#: address, each with a few thousand queues to lock, starts together after a deployment.
BURST_SECONDS = 0.25
#: What is beyond is forgotten: nobody rests for longer when it has ended.
MOST_SECONDS = 10.0
#: A frame, or a body, from this size on is large: it is read in turns with others.
LARGE_BYTES = 65_536
#: What it takes to read a byte of a large frame, about: the kernel's copy, ours, and the memory's pages.
BYTE_NS = 1
#: What it takes to refuse a request, about, with the line in the log.
REFUSAL_NS = 100_000
#: More addresses than this are not remembered.
MAX_ADDRESSES = 10_000


class Costs:
    """`part` of the loop's time, for each address; 1 and more is no bound."""

    def __init__(self, part: float) -> None:
        #: How often a connection was sent to rest.
        self.rests = 0
        self._part = part
        #: When each address will have earned what it cost.
        self._earned: dict[str, float] = {}

    def charge(self, host: str, cost_ns: int, now: float) -> None:
        if self._part >= 1:
            return
        earned = max(self._earned.pop(host, 0.0), now) + cost_ns / 1e9 / self._part
        self._earned[host] = min(earned, now + self._burst + MOST_SECONDS)
        if len(self._earned) > MAX_ADDRESSES:
            del self._earned[next(iter(self._earned))]

    def rest_of(self, host: str, now: float) -> float:
        """So many seconds; 0 when it need not."""
        return max(self._earned.get(host, 0.0) - now - self._burst, 0.0)

    @property
    def _burst(self) -> float:
        return BURST_SECONDS / self._part
