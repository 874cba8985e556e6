"""`sprocket replica` against a controller with two replicas."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.controller.conftest import Caller

from sprocketmq.cli.main import main
from sprocketmq.client.admin.brokers import BrokerStatus
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.controller.server import Controller

SET = json.dumps({"syncStateSet": [1, 2], "syncStateSetEpoch": 1}).encode()


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[str]:
    """Its address; it runs on a loop of its own, for the command has one too."""
    config = ControllerConfig(
        bind_address="127.0.0.1", listen_port=0, metrics_prom_exporter_port=0, config_store_path=tmp_path / "p"
    )
    served = Controller(config, FileEngine(tmp_path / "controller.json"))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def begin() -> Caller:
        await served.start()
        call = Caller(served)
        await call.join(1)
        await call.elect(1)
        await call.join(2)
        await call(1001, SET, brokerName="a", masterBrokerId=1, masterEpoch=1)
        await call(1013, clusterName="c", brokerName="a", appliedBrokerId=3, registerCheckCode="127.0.0.1:3;1")
        return call

    async def end() -> None:
        await call.client.close()
        await served.stop()

    call = asyncio.run_coroutine_threadsafe(begin(), loop).result(60)
    yield f"127.0.0.1:{served.port}"
    asyncio.run_coroutine_threadsafe(end(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def replica(controller: str, *words: str) -> str:
    options = ["--controller", controller, "-n", "127.0.0.1:1"]
    done = CliRunner().invoke(main, ["replica", *words, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_who_reigns_who_is_in_sync_who_lives(controller: str) -> None:
    rows = json.loads(replica(controller, "status", "a", "--json"))
    assert [(row["id"], row["role"], row["in_sync"], row["alive"]) for row in rows] == [
        (1, "master", True, True), (2, "slave", True, True), (3, "slave", False, False),
    ]  # fmt: skip


def test_how_far_a_replica_is_behind() -> None:
    """Both answer at moments of their own, so that a slave can seem to have more than its master."""
    status = [BrokerStatus("c", "a", at, "", {"commitLogMaxOffset": end}) for at, end in enumerate(("70", "50", "80"))]
    silent = BrokerStatus("c", "a", 3, "", {}, "no answer")
    assert [each.behind(status[0]) for each in (*status, silent)] == [0, 20, 0, None]
    assert status[1].behind(silent) is status[1].behind(None) is None


def test_elect_and_remove(controller: str) -> None:
    assert "2" in replica(controller, "elect", "a", "2", "--cluster", "c")
    replica(controller, "remove", "a", "3", "--cluster", "c", "--yes")
    rows = json.loads(replica(controller, "status", "a", "--json"))
    assert [(row["id"], row["role"]) for row in rows] == [(1, "slave"), (2, "master")]
