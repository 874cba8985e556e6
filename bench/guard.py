"""What a guard costs a request, without sockets: for machines that are too busy for `bench.accounts`.

    python -m bench.guard [--reads N] [--rounds N]

One broker in this process; reads of sixteen signed frames are handed to a connection of it, with its guard and without,
in turns. CPU time of this thread, the least and the median of the rounds. Nothing goes through the kernel, so what a
request costs without a guard is less than in `bench.accounts`, and the guard's part of it is more.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.accounts import ACCOUNTS, KEY, SECRET, frames
from tests.unit.broker.support import make_broker

from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, group, topic
from sprocketmq.broker.broker import Broker
from sprocketmq.remoting import Connection
from sprocketmq.remoting.handlers import Authority

#: What is done at once in one read takes no longer than its share (remoting/turns.py).
FRAMES = 16


class Nowhere(asyncio.Transport):
    """What is written is gone."""

    def __init__(self) -> None:
        super().__init__({"sockname": ("127.0.0.1", 10911), "peername": ("127.0.0.1", 4000)})

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def close(self) -> None: ...

    abort = close

    def write(self, data: Any) -> None: ...

    def writelines(self, list_of_data: Any) -> None: ...

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


async def spent(broker: Broker, connection: Connection, authority: Authority | None, data: bytes, reads: int) -> float:
    """Nanoseconds for a frame."""
    broker.table.authority = authority
    total = 0
    for _ in range(reads):
        began = time.thread_time_ns()
        connection.data_received(data)
        while not connection.is_settled:  # noqa: ASYNC110 - a turn of the loop is what it waits for
            await asyncio.sleep(0)
        total += time.thread_time_ns() - began
    await asyncio.sleep(0.001)  # what the broker does beside requests is not counted
    return total / reads / FRAMES


async def compare(broker: Broker, frame: bytes, reads: int, rounds: int) -> dict[str, list[float]]:
    connection = Connection(broker.table, broker.server.connections)
    connection.connection_made(Nowhere())
    ways = {"without": None, "with": broker.access.guard_of_accounts}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, authority in ways.items():
            took = await spent(broker, connection, authority, frame * FRAMES, reads)
            if number:  # the first is to warm up
                found[name].append(took)
    return found


async def run(reads: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:  # a disk is not what is measured
        broker = make_broker(Path(folder) / "store", None, None, mappedFileSizeCommitLog=str(1 << 28), **ACCOUNTS)
        await broker.start()
        accounts = broker.access.accounts
        accounts.create_user(KEY, SECRET)
        allowed = [
            PolicyEntry(each, (Action.PUB, Action.SUB), Decision.ALLOW)
            for each in (topic("LoadTopic"), group("LOADGRP"))
        ]
        accounts.put_acl(KEY, {PolicyType.CUSTOM: allowed})
        try:
            for what, frame in frames().items():
                report(what, await compare(broker, frame, reads if "batch" not in what else reads // 8, rounds))
        finally:
            await broker.stop()


def report(what: str, found: dict[str, list[float]]) -> None:
    for name, figure in (("least", min), ("median", statistics.median)):
        before, after = figure(found["without"]), figure(found["with"])
        print(f"{what:15} {name:7} {before:7.0f} ns without, {after:7.0f} with a guard: {after - before:+5.0f} ns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=30)
    chosen = parser.parse_args()
    asyncio.run(run(chosen.reads, chosen.rounds))


if __name__ == "__main__":
    main()
