"""Fair timing on a noisy machine: candidates take turns, and the median of each is compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def alternate(candidates: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Median seconds of each candidate over `rounds`, run in turn so that a slow spell hits all of them."""
    spent: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            begin = time.perf_counter()
            run()
            spent[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in spent.items()}
