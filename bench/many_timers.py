"""Timers that rest: what a broker's memory and disk hold for them, and what a start costs with all of them there.

python -m bench.many_timers [--timers 1000000]

The timers are spread over almost three days, so that many are rolled. Prints JSON: `kB` is resident memory of the
broker's own after each tenth, `bytes a timer` is what the timer log takes; the message itself is in the commit log.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import tempfile
import time
from pathlib import Path

from bench.many_topics import resident_kb

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.hot.loader import form
from sprocketmq.protocol.record.properties import TIMER_DELAY_MS, UNIQUE_KEY

THREE_DAYS_MS = 259_000_000
STEP = 200


def open_broker(root: Path) -> Broker:
    # An index file of default size takes 420 MB of its own; timers need none of it.
    entries = {
        "storePathRootDir": str(root), "listenPort": "0", "brokerIP1": "127.0.0.1", "bindAddress": "127.0.0.1",
        "maxHashSlotNum": "1000", "maxIndexNum": "4000", "messageIndexEnable": "false",
    }  # fmt: skip
    return Broker.from_entries(entries)


async def put(broker: Broker, number: int, delay_ms: int) -> None:
    message = BrokerMessage(
        topic="Timed", queue_id=number % 4, body=b"%d" % number, born_timestamp=broker.clock.now_ms(),
        born_host=bytes(8), properties={UNIQUE_KEY: f"{number:032X}", TIMER_DELAY_MS: str(delay_ms)},
    )  # fmt: skip
    result = broker.kinds.put(message)
    if not result.ok:
        raise SystemExit(f"timer {number}: {result}")


def behind(broker: Broker) -> int:
    return int(broker.kinds.timer.figures()["timerOffsetBehind"])


def disk(root: Path, name: str) -> int:
    path = root / name
    files = [path] if path.is_file() else path.rglob("*")
    return sum(each.stat().st_blocks * 512 for each in files if each.is_file())


async def fill(broker: Broker, count: int, figures: dict[str, object]) -> None:
    memory = [resident_kb()]
    for number in range(count):
        await put(broker, number, 3_600_000 + number * (THREE_DAYS_MS - 3_600_000) // count)
        if number % STEP == 0:
            await asyncio.sleep(0)
        if (number + 1) % (count // 10) == 0:
            while behind(broker):  # noqa: ASYNC110 - the timer tells nobody of it
                await asyncio.sleep(0.01)
            gc.collect()
            memory.append(resident_kb())
    figures["kB"] = memory


async def start(root: Path, name: str, figures: dict[str, object]) -> Broker:
    broker = open_broker(root)
    began = time.perf_counter()
    await broker.start()
    figures[name] = f"{time.perf_counter() - began:.1f} s, {resident_kb()} kB"
    figures[f"{name}, resting"] = broker.kinds.timer.figures()["timerCongestNum"]
    return broker


async def run(root: Path, count: int) -> dict[str, object]:
    figures: dict[str, object] = {"form": form(), "timers": count}
    broker = await start(root, "first start", figures)
    began = time.perf_counter()
    await fill(broker, count, figures)
    figures["put"] = f"{time.perf_counter() - began:.0f} s"
    await broker.stop()
    figures["bytes a timer"] = round(disk(root, "timerlog") / count, 1)
    figures["wheel"], figures["commit log"] = disk(root, "timerwheel"), disk(root, "commitlog")
    broker = await start(root, "start after a stop", figures)
    await broker.stop()
    (root / "abort").touch()
    broker = await start(root, "start after a kill", figures)
    await broker.stop()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timers", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        print(json.dumps(asyncio.run(run(Path(root), options.timers)), indent=2))


if __name__ == "__main__":
    main()
