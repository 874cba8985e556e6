"""Which of two servers costs more CPU, on a machine that others use too: many short slices in turns, and an interval.

What differs by a few hundredths does not show in long runs one after the other, for the machine changes by more from
one second to the next. So the servers take turns of some hundredths of a second, there and back in an order that is
drawn (B A C C A B): what drifts weighs the same on each, and a round gives one ratio of what they spent by their own
clocks. Some requests go before each slice, for after a rest caches are cold. A server stays on one core, its client on
another.

Two processes of one program differ for all their lives by where their memory came to lie, so they are started several
times. The figure is the median of the starts, each of which gives the median of its rounds. Its interval is that of the
sign test, which holds the true median in 95 of 100 cases however the noise is spread: from one start to another by
rank, as far from the middle as heads and tails of as many coins come to lie.
"""

from __future__ import annotations

import math
import os
import random
import socket
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Self

from bench.remoting import split
from bench.tls import CONNECTIONS, WINDOW, connect, cpu_of

#: How often an interval may miss the truth.
MISSED = 0.05
#: So many values have an interval: the range of five misses the truth more often.
ENOUGH = 6


class Estimate(NamedTuple):
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:+.1%} ({self.low:+.1%} to {self.high:+.1%})"


def estimate(values: Sequence[float]) -> Estimate:
    """The median and its interval by the sign test; of fewer than six it is the whole range, and promises less."""
    ranked, rank = sorted(values), 0
    beyond = 2 / 2 ** len(ranked)  # that the truth is not even within the range
    while beyond <= MISSED and rank < (len(ranked) - 1) // 2:
        beyond += 2 * math.comb(len(ranked), rank + 1) / 2 ** len(ranked)
        rank += beyond <= MISSED
    return Estimate(statistics.median(ranked), ranked[rank], ranked[-1 - rank])


class Driver:
    """A client of plain sockets; while the answers of one window are read, the next one is worked off."""

    def __init__(self, port: int, pid: int, frame: bytes) -> None:
        self._sockets = [connect(port, None) for _ in range(CONNECTIONS)]
        self._rests = dict.fromkeys(self._sockets, b"")
        self._pid, self._window = pid, frame * WINDOW

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            each.close()

    def spend(self, count: int) -> float:
        """CPU seconds of the server for each of `count` requests, or the few more that fill a window."""
        self._work_off(CONNECTIONS)
        before, windows = cpu_of(self._pid), max(count // WINDOW, 1)
        self._work_off(windows)
        return (cpu_of(self._pid) - before) / windows / WINDOW

    def _work_off(self, windows: int) -> None:
        """All are answered in the end: a slice holds what was sent in it, and nothing else."""
        for number in range(min(CONNECTIONS, windows)):
            self._sockets[number].sendall(self._window)
        for number in range(windows):
            each = self._sockets[number % CONNECTIONS]
            self._take_answers(each)
            if number + CONNECTIONS < windows:
                each.sendall(self._window)

    def _take_answers(self, each: socket.socket) -> None:
        answered = 0
        while answered < WINDOW:
            self._rests[each], whole = split(self._rests[each] + each.recv(1 << 18))
            answered += whole


#: By server, what a request cost in each round of one start.
Rounds = dict[str, list[float]]


def in_turns(servers: Mapping[str, tuple[int, int]], frame: bytes, counts: Mapping[str, int], rounds: int) -> Rounds:
    """`servers` are ports and process ids. So many rounds, after a tenth more to warm up."""
    found: Rounds = {name: [] for name in servers}
    order, drawn = list(servers), random.Random(rounds)
    with ExitStack() as opened:
        drivers = {name: opened.enter_context(Driver(*server, frame)) for name, server in servers.items()}
        for number in range(-max(rounds // 10, 2), rounds):
            drawn.shuffle(order)
            spent = dict.fromkeys(order, 0.0)
            for name in (*order, *reversed(order)):
                spent[name] += drivers[name].spend(counts[name]) / 2
            if number >= 0:
                for name in order:
                    found[name].append(spent[name])
    return found


def price(starts: Sequence[Rounds], name: str, beside: str) -> Estimate:
    """By how much a server costs more than another."""
    return estimate(
        [
            statistics.median(one / other - 1 for one, other in zip(found[name], found[beside], strict=True))
            for found in starts
        ]
    )


def keep_on_core(pid: int, core: int) -> None:
    """A process and its threads, and those that they will start."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})
