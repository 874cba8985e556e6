"""Many seeds: `python -m tests.simulation.campaign --seeds 100000`. What is wrong with one is told with its number."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.cluster import EXCUSED, run
from tests.simulation.flaws import Flaw

_CHUNK = 50


def _seed(seed: int) -> tuple[int, list[str]]:
    return seed, run(seed)


def campaign(seeds: Iterable[int]) -> Iterator[tuple[int, list[str]]]:
    """Every seed and what was wrong with it, on all cores."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(_seed, seeds, chunksize=_CHUNK)


def catches(flaw: Flaw, seeds: Iterable[int]) -> str | None:
    """What betrays `flaw` first; a cluster that only gets stuck does not count, nor what would be excused."""
    for seed in seeds:
        found = [each for each in run(seed, flaw) if not each.startswith(("stuck", EXCUSED))]
        if found:
            return f"seed {seed}: {found[0]}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate clusters by seed.")
    parser.add_argument("--seeds", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    wrong = excused = 0
    for seed, found in campaign(range(chosen.first, chosen.first + chosen.seeds)):
        if found and found[0].startswith(EXCUSED):
            excused += 1
        elif found:
            wrong += 1
            print(f"seed {seed}:", *found, sep="\n  ", flush=True)
        if seed % 1000 == 999:
            print(f"up to seed {seed}: {wrong} wrong, {excused} excused", flush=True)
    print(f"{chosen.seeds} seeds, {wrong} wrong, {excused} excused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
