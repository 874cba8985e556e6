"""A nameserver under hostile frames: what must hold, whatever their number."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fault.hostile import Report, attack, frames

from sprocketmq.codes import RequestCode
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import RemotingClient

ATTACKERS = 8
GROWTH_MIB = 40  # allocator noise; 100,000 frames that each left 1 KB behind would be 100


def resident_mib() -> float:
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def good_client(address: str, stop: asyncio.Event) -> int:
    """Ask for the cluster again and again; how often it was answered."""
    client, served = RemotingClient(), 0
    while not stop.is_set():
        answer = await client.call(address, Command(RequestCode.GET_BROKER_CLUSTER_INFO), 10)
        assert answer.code == 0
        served += 1
        await asyncio.sleep(0.005)
    await client.close()
    return served


async def besiege(nameserver: Nameserver, codes: Sequence[int], count: int) -> tuple[list[Report], int]:
    stop = asyncio.Event()
    good = asyncio.ensure_future(good_client(nameserver.address, stop))
    reports = [Report() for _ in range(ATTACKERS)]
    await asyncio.gather(
        *(
            attack(nameserver.port, frames(seed, codes), count // ATTACKERS, report)
            for seed, report in enumerate(reports)
        )
    )
    stop.set()
    return reports, await good


async def everyone_left(nameserver: Nameserver) -> None:
    async with asyncio.timeout(10):
        while len(nameserver._server.connections):  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)


async def withstand(tmp_path: Path, caplog: pytest.LogCaptureFixture, count: int) -> None:
    """Nothing crashes, nothing is leaked, and a good client is served meanwhile."""
    caplog.set_level(logging.ERROR)
    nameserver = Nameserver(
        NameserverConfig(
            bind_address="127.0.0.1", listen_port=0, kv_config_path=tmp_path / "kv.json",
            config_store_path=tmp_path / "ns.properties",
        )
    )  # fmt: skip
    await nameserver.start()
    # Puts sync the disk, and deletes undo them: both stay out of the flood, they have tests of their own.
    slow = {RequestCode.PUT_KV_CONFIG, RequestCode.DELETE_KV_CONFIG}
    codes = [code for code in nameserver.codes() if code not in slow]
    await besiege(nameserver, codes, 1000)  # warm: imports, caches, the allocator
    gc.collect()
    before = resident_mib()
    reports, served = await besiege(nameserver, codes, count)
    await everyone_left(nameserver)
    gc.collect()
    assert sum(report.sent for report in reports) >= count
    assert sum(report.answers for report in reports) > count / 10
    assert sum(report.internal_errors + report.nonsense for report in reports) == 0
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert served > 5
    assert resident_mib() - before < GROWTH_MIB
    await nameserver.stop()
