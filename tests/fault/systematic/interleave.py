"""Two threads in every order that matters, without luck: one is stopped before a step, the other runs, and so on.

A step is one byte code of the modules that threads share fields in; what these call elsewhere, and compiled code, is
one step. `orders` gives the schedules: each thread is stopped at every one of its steps, the other does all it has to
do or is itself stopped once, and then the first goes on. Races are between two places almost always; these are found
for certain.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

#: Seconds; only a thread that waits for the other for ever takes so long.
PATIENCE = 60.0
#: Where fields are that threads share; what else they call is one step.
_OURS = (
    "sprocketmq.store.log", "sprocketmq.store.queue", "sprocketmq.store.store", "sprocketmq.broker",
    "sprocketmq.store.files.table_text", "tests.fault.systematic.planted_races",
)  # fmt: skip

Job = Callable[[], object]


@dataclass(frozen=True)
class Order:
    """The first thread does `first` steps, the other `second` of its own (None is all), then the first ends."""

    first: int
    second: int | None = None


class Interleaved(Exception):
    """What a thread raised, and in which order of steps."""


class _Thread:
    """Runs `job`, and stops before the step that it is told."""

    def __init__(self, job: Job, stop_at: int | None) -> None:
        self.steps = 0
        self.error: BaseException | None = None
        self.over = False
        self._job = job
        self._stop_at = stop_at
        self._may_go, self._rests = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go(self) -> None:
        """Let it run until it stops or ends."""
        if self.over:
            return
        self._may_go.release()
        if not self._rests.acquire(timeout=PATIENCE):
            raise Interleaved(f"waits for the other after {self.steps} steps")

    def _run(self) -> None:
        self._may_go.acquire()
        sys.settrace(self._enter)
        try:
            self._job()
        except BaseException as error:  # noqa: BLE001 - told by `run`
            self.error = error
        finally:
            sys.settrace(None)
            self.over = True
            self._rests.release()

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if not str(frame.f_globals.get("__name__", "")).startswith(_OURS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode":
            if self.steps == self._stop_at:
                self._rests.release()
                self._may_go.acquire()
            self.steps += 1
        return self._step


def run(first: Job, second: Job, order: Order) -> tuple[int, int]:
    """How many steps each has done; raises what one of them raised."""
    one, other = _Thread(first, order.first), _Thread(second, order.second)
    for thread in (one, other, one, other):
        thread.go()
    for thread in (one, other):
        if thread.error is not None:
            raise Interleaved(f"{order}: {thread.error!r}") from thread.error
    return one.steps, other.steps


def orders(steps: int, other_steps: int, stride: int = 1) -> Iterator[Order]:
    """Every stop of the first with all of the other, and every pair of stops, each `stride`th of them."""
    yield from (Order(stop) for stop in range(steps + 1))
    if stride:
        yield from (Order(stop, other) for stop in range(0, steps, stride) for other in range(1, other_steps, stride))
