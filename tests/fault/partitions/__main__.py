"""Faults of real processes in network namespaces, under load.

    python -m tests.fault.partitions --faults 100 [--kinds kill,pause,...] [--seed N] [--json FILE] [--no-java]

A story has a fresh cluster and `--story` faults. With --json the result is written after each story, and a run that was
ended goes on behind the last one. Exits 1 when a promise was broken. Needs root, iproute2 and etcd.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests.fault.partitions.machines import NODES
from tests.fault.partitions.nemeses import KINDS
from tests.fault.partitions.story import tell
from tests.peers.namespaces import Namespaces, NoNamespaces, run_inside


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fault.partitions", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--faults", type=int, default=24)
    parser.add_argument("--story", type=int, default=8)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-java", dest="java", action="store_false")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        sys.exit(_inside(options) if options.inside else run_inside("tests.fault.partitions", NODES, sys.argv[1:]))
    except NoNamespaces as reason:
        print(f"REAL PARTITIONS WERE NOT TRIED: {reason}", file=sys.stderr)


def _inside(options: argparse.Namespace) -> int:
    net, result = Namespaces(options.inside, NODES), _begun(options)
    while sum(result["faults"].values()) < options.faults and len(result["findings"]) < 5:
        seed = options.seed + result["stories"]
        done = sum(result["faults"].values())
        kinds = list(islice(cycle(options.kinds.split(",")), done, done + options.story))
        with tempfile.TemporaryDirectory() as folder:
            told = asyncio.run(tell(net, Path(folder), kinds, seed, java=options.java))
        result["stories"] += 1
        result["faults"] = dict(Counter(result["faults"]) + Counter(told.faults))
        result["promised"] += told.promised
        result["whole_s"] += told.whole_s
        result["findings"] += [f"story {seed}: {finding}" for finding in told.findings]
        if options.json is not None:
            options.json.write_text(json.dumps(result) + "\n")
    print(json.dumps(result))
    return 1 if result["findings"] else 0


def _begun(options: argparse.Namespace) -> dict[str, Any]:
    """What an earlier run of the same kind has written, or nothing."""
    asked = {"kinds": options.kinds, "seed": options.seed}
    if options.json is not None and options.json.exists():
        found: dict[str, Any] = json.loads(options.json.read_text())
        if {key: found[key] for key in asked} == asked:
            return found
    return {**asked, "stories": 0, "faults": {}, "promised": 0, "whole_s": [], "findings": []}


if __name__ == "__main__":
    main()
