"""Several faults in one run of the script, and which of them breaks a promise found by halves.

What a fault is and how it is made is the caller's: an `attempt` makes some of them in one run and says which were met
and what went wrong. In company no fault excuses another: what one alone may cost, such as a message that comes again,
is a reason to look at each half, and only a fault that is alone is judged by what it alone may cost. A fault that was
not met, or of which a company cannot say whether anybody was told of it, is tried in other company, then in less, and
at last alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tests.fault.history.findings import Finding
from tests.fault.systematic.program import keep

Fault = TypeVar("Fault")
#: Told the faults and the number of the run; those that were met, and what went wrong.
Attempt = Callable[[Sequence[Fault], int], tuple[list[Fault], list[Finding]]]

#: How often a fault is tried alone before it counts as one that is not met: threads have a say in it.
ALONE = 3


def new_result(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "stride": options.stride, "places": {}, "met": 0, "unmet": [], "runs": 0, "seconds": 0.0, "findings": []
    }  # fmt: skip


class Company(Generic[Fault]):
    """Goes through many faults. `--done FILE` has a line for each that was met: another run goes on behind them."""

    def __init__(self, attempt: Attempt[Fault], options: argparse.Namespace, result: dict[str, Any]) -> None:
        self._attempt = attempt
        self._options = options
        self._result = result
        self._began: float = time.monotonic() - result["seconds"]
        self._ends: float = self._began + options.seconds
        self._done = _lines(options)

    def go_through(self, faults: Sequence[Fault], together: int) -> None:
        todo = [fault for fault in faults if str(fault) not in self._done]
        tries = 0
        while todo and tries < ALONE and not self._late():
            unmet = self._round(todo, together)
            tries += together == 1
            together = together if 2 * len(unmet) < len(todo) else max(1, together // 2)
            todo = unmet
        if not self._late():
            self._result["unmet"] += [str(fault) for fault in todo]
        self._keep()

    def _round(self, todo: Sequence[Fault], together: int) -> list[Fault]:
        """Once with all of them, so many in each run; those that were not met."""
        unmet: list[Fault] = []
        runs = -(-len(todo) // together)
        for number in range(runs):
            if self._late():
                break
            some = todo[number::runs]  # from everywhere, so that they are in each other's way but little
            met = self._found_by_halves(some, number)
            unmet += [fault for fault in some if fault not in met]
            self._result["met"] += len(met)
            self._keep()
            if self._options.done:
                with self._options.done.open("a") as file:
                    file.writelines(f"{fault}\n" for fault in met)
        return unmet

    def _found_by_halves(self, some: Sequence[Fault], number: int) -> list[Fault]:
        try:
            met, findings = self._attempt(some, number)
        except Exception as error:  # noqa: BLE001 - whatever ends the script came of the fault
            met, findings = list(some), [Finding("ended", repr(error))]
        self._result["runs"] += 1
        if findings and len(some) > 1:
            halves = some[: len(some) // 2], some[len(some) // 2 :]
            return [fault for half in halves for fault in self._found_by_halves(half, number)]
        self._result["findings"] += [f"{some[0]}: {finding}" for finding in findings][:5]
        return met

    def _late(self) -> bool:
        return time.monotonic() > self._ends

    def _keep(self) -> None:
        self._result["seconds"] = round(time.monotonic() - self._began, 1)
        keep(self._result, self._options.json)


def _lines(options: argparse.Namespace) -> set[str]:
    return set(options.done.read_text().splitlines()) if options.done and options.done.exists() else set()
