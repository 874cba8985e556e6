"""A server under hostile frames: what must hold, whatever their number."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.fault.strangers.hostile_frames import Report, attack, frames

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import RemotingClient
from sprocketmq.remoting.connections import ConnectionRegistry

ATTACKERS = 8
PATIENCE = 60  # seconds; a busy machine is no reason to fail
GROWTH_MIB = 40  # allocator noise; 100,000 frames that each left 1 KB behind would be 100


@dataclass(frozen=True, slots=True)
class Target:
    port: int
    codes: Sequence[int]
    connections: ConnectionRegistry
    #: What a good client asks, again and again.
    question: Command


async def withstand(target: Target, count: int, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing crashes, nothing is leaked, and a good client is served meanwhile."""
    caplog.set_level(logging.ERROR)
    await besiege(target, 1000)  # warm: imports, caches, the allocator
    gc.collect()
    caplog.clear()  # asyncio reports here what earlier tests left behind
    before = resident_mib()
    reports, served = await besiege(target, count)
    await everyone_left(target)
    gc.collect()
    assert sum(report.sent for report in reports) >= count, reports
    assert sum(report.answers for report in reports) > count / 10, reports
    assert sum(report.internal_errors + report.nonsense for report in reports) == 0, reports
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert served > 5
    assert resident_mib() - before < GROWTH_MIB, f"from {before:.0f} MiB"


async def besiege(target: Target, count: int, first_seed: int = 0) -> tuple[list[Report], int]:
    """What became of the frames of eight seeds from this one on, and how often a good client was answered."""
    stop = asyncio.Event()
    good = asyncio.ensure_future(good_client(target, stop))
    reports = [Report() for _ in range(ATTACKERS)]
    sources = (frames(seed, target.codes) for seed in range(first_seed, first_seed + ATTACKERS))
    await asyncio.gather(
        *(
            attack(target.port, source, count // ATTACKERS, report)
            for source, report in zip(sources, reports, strict=True)
        )
    )
    stop.set()
    return reports, await good


async def good_client(target: Target, stop: asyncio.Event) -> int:
    """How often it was answered."""
    client, served = RemotingClient(), 0
    while not stop.is_set():
        answer = await client.call(f"127.0.0.1:{target.port}", target.question, PATIENCE)
        assert answer.code == 0, answer.remark
        served += 1
        await asyncio.sleep(0.005)
    await client.close()
    return served


async def everyone_left(target: Target) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(target.connections):  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)


def resident_mib() -> float:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@asynccontextmanager
async def nameserver_target(directory: Path) -> AsyncIterator[Target]:
    config = NameserverConfig(
        bind_address="127.0.0.1", listen_port=0, kv_config_path=directory / "kv.json",
        config_store_path=directory / "ns.properties", costly_work_percent=100,
    )  # fmt: skip
    nameserver = Nameserver(config)
    await nameserver.start()
    # Puts sync the disk, and deletes undo them: both stay out of the flood, they have tests of their own.
    codes = sorted(nameserver.codes() - {RequestCode.PUT_KV_CONFIG, RequestCode.DELETE_KV_CONFIG})
    question = Command(RequestCode.GET_BROKER_CLUSTER_INFO)
    try:
        yield Target(nameserver.port, codes, nameserver._server.connections, question)
    finally:
        await nameserver.stop()


@asynccontextmanager
async def broker_target(directory: Path) -> AsyncIterator[Target]:
    entries = {
        "bindAddress": "127.0.0.1", "brokerIP1": "127.0.0.1", "listenPort": "0", "haListenPort": "0",
        "metricsExporterType": "DISABLE", "brokerName": "besieged", "storePathRootDir": str(directory / "store"),
        "mappedFileSizeCommitLog": str(16 << 20), "maxHashSlotNum": "1000", "maxIndexNum": "4000",
        "costlyWorkPercent": "100",  # as many frames as it can take, not as many as it lets in
    }  # fmt: skip
    broker = Broker.from_entries(entries)
    await broker.start()
    question = Command(RequestCode.GET_MAX_OFFSET, ext_fields={"topic": "BenchmarkTest", "queueId": "0"})
    try:
        yield Target(broker.port, sorted(broker.table.codes()), broker.server.connections, question)
    finally:
        await broker.stop()


async def besieged_nameserver(directory: Path, count: int, caplog: pytest.LogCaptureFixture) -> None:
    async with nameserver_target(directory) as target:
        await withstand(target, count, caplog)


async def besieged_broker(directory: Path, count: int, caplog: pytest.LogCaptureFixture) -> None:
    async with broker_target(directory) as target:
        await withstand(target, count, caplog)
