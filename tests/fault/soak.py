"""Users of every kind on a real broker for as long as one likes: what it holds must stay flat.

    python -m tests.fault.soak --minutes 60 [--mode SYNC_FLUSH|ASYNC_FLUSH] [--pace 20] [--json FILE]

The users are those of the campaign, slowed down by `pace`; their calls are judged by the same rules at the end. The
broker is a process of its own with indexes, extended queues, checksums over properties and metrics that are scraped.
Exits 1 when a promise was broken, or when the second half holds more memory or descriptors than the first, or has less
than half of its acknowledged sends.

Files of queues become more as long as messages come, and each that is mapped holds a descriptor, up to
`maxMappedQueueFiles`. Here that is so few that they are all in use within minutes: whatever grows after that is a leak.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar

from tests.fault.campaign.story import finish_sink, look
from tests.fault.campaign.users import Memory, Users
from tests.fault.history.checker import check
from tests.fault.history.events import History
from tests.fault.history.findings import Promises
from tests.fault.strangers.attacks import percentile
from tests.fault.strangers.besieged import Besieged, besieged_broker
from tests.peers.process import free_port
from tests.unit.broker.support import Caller

from sprocketmq.codes import RequestCode

T = TypeVar("T")

SAMPLE_SECONDS = 10.0
PROBE_SECONDS = 0.05
#: Allocator noise; the second half may hold so much more than the first.
SLACK_MIB, SLACK_FILES = 4.0, 8
#: Of descriptors: connections, files of the store, and what a process has besides.
KINDS = "sockets", "store", "others"

SETTINGS = {
    "brokerName": "broker-a", "adminAllowLocal": "true", "recallMessageEnable": "true", "enabledAppendPropCRC": "true",
    "enableConsumeQueueExt": "true", "enablePropertyFilter": "true", "transactionCheckInterval": "10000",
    "flushConsumerOffsetInterval": "500", "metricsExporterType": "PROM", "maxMappedQueueFiles": "32",
}  # fmt: skip


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Place:
    """What users need of a world: here it is the real one, and time passes by itself."""

    lives, lost_power = 1, False

    def __init__(self, port: int, mode: str) -> None:
        self.mode = mode
        self.history = History(_now_ms)
        self.clock = SimpleNamespace(monotonic_ms=_now_ms)
        self._broker: Any = SimpleNamespace(address=f"127.0.0.1:{port}")

    def caller(self) -> Caller:
        return Caller(self._broker)

    async def rest(self, ms: int) -> None:
        await asyncio.sleep(ms / 1000)

    async def until(self, work: Awaitable[T]) -> T:
        return await work


@dataclass
class Half:
    """The most that was seen of each in one half of the time; stalls are how long a question took, in milliseconds."""

    memory_mib: float = 0.0
    files: dict[str, int] = field(default_factory=dict)
    stall_p50: float = 0.0
    stall_p99: float = 0.0
    stall_max: float = 0.0


@dataclass
class Watch:
    broker: Besieged
    metrics_port: int
    memory: list[float] = field(default_factory=list)
    files: list[Counter[str]] = field(default_factory=list)
    stalls: list[float] = field(default_factory=list)

    async def sample(self) -> None:
        process = Path(f"/proc/{self.broker.process.pid}")
        while True:
            await asyncio.to_thread(self._sample, process)
            await asyncio.sleep(SAMPLE_SECONDS)

    def _sample(self, process: Path) -> None:
        line = next(line for line in (process / "status").read_text().splitlines() if line.startswith("RssAnon"))
        self.memory.append(int(line.split()[1]) / 1024)
        self.files.append(descriptors(process))
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=60) as answer:
            assert b"rocketmq_" in answer.read()

    async def probe(self, caller: Caller) -> None:
        """Who asks the loop the cheapest question waits as long as it is busy with another."""
        while True:
            began = time.perf_counter()
            await caller(RequestCode.GET_MAX_OFFSET, topic="Plain", queueId=0)
            self.stalls.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(PROBE_SECONDS)

    def half(self, second: bool) -> Half:
        memory, files, stalls = _part(self.memory, second), _part(self.files, second), _part(self.stalls, second)
        return Half(
            round(max(memory), 1), {kind: max(each[kind] for each in files) for kind in KINDS},
            round(percentile(stalls, 0.5), 2), round(percentile(stalls, 0.99), 2), round(max(stalls), 1),
        )  # fmt: skip


def _part(samples: list[T], second: bool) -> list[T]:
    return samples[len(samples) // 2 :] if second else samples[: len(samples) // 2]


def descriptors(process: Path) -> Counter[str]:
    """How many of each kind the process holds."""
    found: Counter[str] = Counter()
    for entry in (process / "fd").iterdir():
        with suppress(FileNotFoundError):  # closed while they were listed
            target = str(entry.readlink())
            found["sockets" if target.startswith("socket:") else "store" if "/store/" in target else "others"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fault.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--mode", choices=["SYNC_FLUSH", "ASYNC_FLUSH"], default="SYNC_FLUSH")
    parser.add_argument("--pace", type=float, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = asyncio.run(soak(options.minutes * 60, options.mode, options.pace))
    text = json.dumps(result, indent=2)
    if options.json is not None:
        options.json.write_text(text + "\n")
    print(text)
    sys.exit(1 if result["findings"] or result["grown"] or result["starved"] else 0)


async def soak(seconds: float, mode: str, pace: float) -> dict[str, Any]:
    metrics_port = free_port()
    settings: dict[str, Any] = {**SETTINGS, "flushDiskType": mode, "metricsPromExporterPort": str(metrics_port)}
    with tempfile.TemporaryDirectory() as folder:
        async with besieged_broker(Path(folder), **settings) as broker:
            place, watch = Place(broker.port, mode), Watch(broker, metrics_port)
            await _work(place, watch, seconds, pace)
    return _report(seconds, mode, place.history, watch)


async def _work(place: Any, watch: Watch, seconds: float, pace: float) -> None:
    memory = Memory()
    users = Users(place, "soak", memory=memory, pace=pace)
    users.start()
    watching = [asyncio.ensure_future(watch.sample()), asyncio.ensure_future(watch.probe(place.caller()))]
    await asyncio.wait(watching, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in watching:
        assert not task.done(), task.exception()
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    await users.cancel()
    await finish_sink(place, memory, Random(0))
    await look(place)


def _report(seconds: float, mode: str, history: History, watch: Watch) -> dict[str, Any]:
    first, second = watch.half(False), watch.half(True)
    sends = _sends_by_half(history)
    grown = [
        *(["memory"] if second.memory_mib > first.memory_mib * 1.1 + SLACK_MIB else []),
        *(kind for kind in KINDS if second.files[kind] > first.files[kind] + SLACK_FILES),
    ]
    return {
        "mode": mode,
        "seconds": round(seconds),
        "calls": len(history.calls),
        "sends": sends,
        "refused": dict(Counter(f"{call.name}: {call['code']}" for call in history.calls if "code" in call.fields)),
        "samples": len(watch.memory),
        "probes": len(watch.stalls),
        "first": asdict(first),
        "second": asdict(second),
        "grown": grown,
        "starved": sends[1] * 2 < sends[0],
        "findings": [str(finding) for finding in check(history, Promises(early_ms=1100, late_ms=60_000))][:20],
    }


def _sends_by_half(history: History) -> tuple[int, int]:
    """What was acknowledged: a broker that takes nothing any more holds nothing more either."""
    times = [call.begun_ms for call in history.calls]
    middle = (times[0] + times[-1]) / 2
    early = [call.begun_ms < middle for call in history.ok("send")]
    return sum(early), len(early) - sum(early)


if __name__ == "__main__":
    main()
