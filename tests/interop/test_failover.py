"""A broker set under a controller: master, slave and controller each ours or Apache's, all eight of them.

The master is killed under load, the other takes over, the first comes back, and they change places once more, so that
each pair is tried both ways round: a mixed pair is two of the eight. What was promised must be there at the end, and
our producer must not have noticed more than a pause.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers.broker_set import BrokerSet, Load, lost
from tests.peers.controllers import ApacheController, SprocketController
from tests.peers.patience import LONG
from tests.peers.servers import Server

pytestmark = pytest.mark.interop

MakeController = Callable[[Path], Server]


@pytest.mark.parametrize(
    ("controller", "kinds"),
    [
        (SprocketController, ["sprocket", "sprocket"]),
        (ApacheController, ["sprocket", "sprocket"]),
        pytest.param(SprocketController, ["apache", "sprocket"], marks=LONG),
        pytest.param(ApacheController, ["apache", "sprocket"], marks=LONG),
        pytest.param(SprocketController, ["apache", "apache"], marks=LONG),
        pytest.param(ApacheController, ["apache", "apache"], marks=LONG),
    ],
)
def test_nothing_promised_is_lost_when_masters_change(
    tmp_path: Path, controller: MakeController, kinds: list[str]
) -> None:
    with BrokerSet(tmp_path, controller(tmp_path / "controller"), kinds) as brokers:
        asyncio.run(change_places(brokers))


async def change_places(brokers: BrokerSet) -> None:
    async with Load(brokers.nameserver.address) as load:
        await load.more(50)
        for _ in range(2):
            old = brokers.master
            assert old is not None
            old.kill()
            await asyncio.to_thread(brokers.wait_master_not, old)
            await load.more(50)
            await asyncio.to_thread(old.start)
            await asyncio.to_thread(brokers.wait_whole)
            await load.more(50)
    assert load.errors == []
    assert await lost(brokers.nameserver.address, load.acked) == set()


def test_a_master_that_was_asleep_promises_nothing_and_follows(tmp_path: Path) -> None:
    with BrokerSet(tmp_path, SprocketController(tmp_path / "controller"), ["sprocket"] * 3) as brokers:
        asyncio.run(sleep_and_wake(brokers))


async def sleep_and_wake(brokers: BrokerSet) -> None:
    async with Load(brokers.nameserver.address, timeout=2.0) as load:
        await load.more(50)
        old = brokers.master
        assert old is not None
        os.kill(old.pid, signal.SIGSTOP)
        await asyncio.to_thread(brokers.wait_master_not, old)
        await load.more(50)
        os.kill(old.pid, signal.SIGCONT)
        await asyncio.to_thread(brokers.wait_whole)
        await load.more(50)
    assert await lost(brokers.nameserver.address, load.acked) == set()
