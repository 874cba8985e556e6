# cython: annotation_typing=False
"""How long answers took, by request and response: what RocketMQ exports as `rocketmq_rpc_latency`.

The answers to the requests of one read leave in one write. So each of them is only counted, by `note`, and one clock
times them all, in `settle`. An answer that comes later by itself is told with its time, to `late`.

Every request passes here, so this is compiled.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.memory import nanoseconds

#: RemotingMetricsManager.getMetricsView, in milliseconds.
BOUNDS_MS = (1, 3, 5, 7, 10, 100, 1000, 2000, 3000)
#: The code of requests that there is no handler for: peers can make up as many as they like.
UNKNOWN = -1

_MS_NS = 1_000_000


class AnswerKind:
    """
    code, response    of the request and of its answer
    oneway, waited    nobody heard the answer; the request waited for a message
    counts            by bounds, and one for what took longer
    """

    def __init__(self, code: int, response: int, oneway: bool, waited: bool) -> None:
        self.code = code
        self.response = response
        self.oneway = oneway
        self.waited = waited
        self.total_ns = 0
        self._fresh = 0
        self._quick = 0  # the first bound apart: nearly all answers, and a number of C instead of an object in a list
        self._slow = [0] * (len(BOUNDS_MS) + 1)

    @property
    def counts(self) -> list[int]:
        return [self._quick, *self._slow[1:]]

    def settle(self, took_ns: int) -> None:
        """Those that were counted since the last time took so long."""
        self.add(took_ns, self._fresh)
        self._fresh = 0

    def add(self, took_ns: int, count: int) -> None:
        if took_ns <= _MS_NS:
            self._quick += count
        else:
            self._slow[_place(took_ns)] += count
        self.total_ns += took_ns * count


class AnswerTimes:
    def __init__(self) -> None:
        self.kinds: dict[tuple[int, int, bool, bool], AnswerKind] = {}
        #: That of the last answer, as most are like the one before; and others of the same read.
        self._kind = AnswerKind(UNKNOWN, 0, False, False)
        self._others: list[AnswerKind] = []
        #: That of the last one that left by itself.
        self._late = self._kind

    def note(self, code: int, response: int, oneway: bool) -> None:
        """An answer that leaves with this read's."""
        kind = self._kind
        if kind.code != code or kind.response != response or kind.oneway != oneway:
            kind = self._change(code, response, oneway)
        kind._fresh += 1

    def settle(self, took_ns: int) -> None:
        """The answers of a read have left, so long after it came."""
        kind = self._kind
        if kind._fresh:
            kind.settle(took_ns)
        if self._others:
            for other in self._others:
                other.settle(took_ns)
            self._others.clear()

    def late(self, code: int, response: int, took_s: float, waited: bool) -> None:
        """An answer that left by itself; its read was settled long before."""
        kind = self._late
        if kind.code != code or kind.response != response or kind.waited != waited:
            kind = self._late = self._of(code, response, False, waited)
        took_ns = nanoseconds(took_s)
        kind.add(took_ns if took_ns > 0 else 0, 1)

    def _change(self, code: int, response: int, oneway: bool) -> AnswerKind:
        if self._kind._fresh:
            self._others.append(self._kind)
        self._kind = self._of(code, response, oneway, False)
        return self._kind

    def _of(self, code: int, response: int, oneway: bool, waited: bool) -> AnswerKind:
        key = (code, response, oneway, waited)
        kind = self.kinds.get(key)
        if kind is None:
            kind = self.kinds[key] = AnswerKind(*key)
        return kind


def _place(took_ns: int) -> int:
    for place, bound in enumerate(BOUNDS_MS):
        if took_ns <= bound * _MS_NS:
            return place
    return len(BOUNDS_MS)
