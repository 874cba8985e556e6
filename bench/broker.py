"""Our broker and Apache RocketMQ 5.3.3 under the same load, one after the other; prints both and their ratio.

RMQLOAD=path/to/rmqload python -m bench.broker [--messages N] [--ours-only] [--json]

The load generator is a program of its own (`rmqload`), so that neither side is measured by its own client. Where it, or
Java, is missing, what cannot be measured is left out and the reason said.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.peers.apache import ApacheBroker, ApacheNameServer
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker, SprocketNameServer

#: The sizes that both have by default, instead of the small ones that suit tests.
CONF = {
    "mappedFileSizeCommitLog": str(1 << 30),
    "mappedFileSizeConsumeQueue": "6000000",
    "maxHashSlotNum": "5000000",
    "maxIndexNum": "20000000",
}
Servers = tuple[NameServer, Broker]
_SPEED = re.compile(r"(\d+) msg/s.*?cpu/M=([\d.]+)s")


@dataclass(frozen=True, slots=True)
class Load:
    """One way to load a broker, and by how much ours should be ahead."""

    name: str
    options: tuple[str, ...]
    times: float
    speed_at_least: float


LOADS = (
    Load("single sends, binary", ("-mode", "send", "-bin"), 1, 4.0),
    Load("single sends, JSON", ("-mode", "send"), 1, 4.0),
    Load("batches of 32, binary", ("-mode", "batch", "-bin"), 4, 5.0),
    Load("batches of 32, JSON", ("-mode", "batch"), 4, 5.0),
    Load("pulls of 32, binary", ("-mode", "pull", "-bin", "-conns", "4", "-window", "1"), 2, 3.0),
    Load("pulls of 32, JSON", ("-mode", "pull", "-conns", "4", "-window", "1"), 2, 3.0),
)
SYNC_LOADS = (Load("sync flush, binary", ("-mode", "send", "-bin", "-conns", "8"), 0.5, 3.0),)


@dataclass(frozen=True, slots=True)
class Figure:
    messages_per_second: int
    cpu_seconds_per_million: float


def measure(rmqload: str, broker: Broker, loads: tuple[Load, ...], messages: int) -> dict[str, Figure]:
    found = {}
    for load in loads:
        count = int(messages * load.times)
        command = [rmqload, "-addr", broker.address, "-pid", str(broker.pid), "-n", str(count), *load.options]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        match = _SPEED.search(output)
        if match is None:
            raise SystemExit(f"rmqload said: {output}")
        found[load.name] = Figure(int(match[1]), float(match[2]))
    return found


def run(rmqload: str, messages: int, make: Callable[[Path, dict[str, str]], Servers]) -> dict[str, Figure]:
    found = run_loads(rmqload, messages, LOADS, lambda folder: make(folder, CONF))
    sync = {**CONF, "flushDiskType": "SYNC_FLUSH"}
    return found | run_loads(rmqload, messages, SYNC_LOADS, lambda folder: make(folder, sync))


def run_loads(
    rmqload: str, messages: int, loads: tuple[Load, ...], make: Callable[[Path], Servers]
) -> dict[str, Figure]:
    with tempfile.TemporaryDirectory() as folder:
        nameserver, broker = make(Path(folder))
        nameserver.start()
        try:
            broker.start()
            try:
                measure(rmqload, broker, loads, max(messages // 10, 1000))  # a JVM needs a while to be fast
                return measure(rmqload, broker, loads, messages)
            finally:
                broker.kill()
        finally:
            nameserver.kill()


def ours(folder: Path, conf: dict[str, str]) -> Servers:
    nameserver = SprocketNameServer(folder / "nameserver")
    return nameserver, SprocketBroker(folder / "broker", nameserver.address, conf)


def apache(folder: Path, conf: dict[str, str]) -> Servers:
    nameserver = ApacheNameServer(folder / "nameserver")
    return nameserver, ApacheBroker(folder / "broker", nameserver.address, conf, heap="2g", quick=False)


def report(figures: dict[str, dict[str, Figure]]) -> None:
    for load in (*LOADS, *SYNC_LOADS):
        mine = figures["sprocket"][load.name]
        line = f"{load.name:24} {mine.messages_per_second:>9,} msg/s {mine.cpu_seconds_per_million:6.2f} CPU s/million"
        theirs = figures.get("apache", {}).get(load.name)
        if theirs is not None:
            speed = mine.messages_per_second / theirs.messages_per_second
            cpu = theirs.cpu_seconds_per_million / mine.cpu_seconds_per_million
            line += (
                f"   Apache {theirs.messages_per_second:>9,} {theirs.cpu_seconds_per_million:6.2f}"
                f"   {speed:4.1f}x the speed (at least {load.speed_at_least:g}x), 1/{cpu:.1f} of the CPU"
            )
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=300_000)
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rmqload = os.environ.get("RMQLOAD") or shutil.which("rmqload")
    if rmqload is None:
        print("skipped: no rmqload; set RMQLOAD to the load generator", file=sys.stderr)
        return
    figures = {"sprocket": run(rmqload, options.messages, ours)}
    if not options.ours_only:
        figures["apache"] = run(rmqload, options.messages, apache)
    if options.json:
        print(json.dumps(figures, default=asdict))
        return
    report(figures)


if __name__ == "__main__":
    main()
