"""Each attack on a real broker that has 512 MiB of address space, and a healthy client beside it that is answered.

How fast it is answered is measured by `bench/hostile.py`; here it counts that it is, and that the broker lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.certificates import Certificates
from tests.fault.strangers.attacks import ATTACKS, Attack, HealthyClient, connections, pull_fields, send_fields
from tests.fault.strangers.besieged import MIB, besieged_broker
from tests.fault.strangers.stranger import FRIEND, STRANGER, Stranger, strangers

from sprocketmq.codes import RequestCode

MEMORY = 512 * MIB
#: Answers that the healthy client must get while the attack goes on, and how long it goes on at least.
ANSWERS = 50
SECONDS = 1.5


@asynccontextmanager
async def under_attack(attack: Attack, port: int) -> AsyncIterator[HealthyClient]:
    client = HealthyClient(port)
    healthy = asyncio.ensure_future(client.run())
    await client.answered(1)
    attacking = asyncio.ensure_future(attack(port))
    try:
        await asyncio.sleep(SECONDS)  # so that it is under way
        yield client
        assert not attacking.done(), attacking
        assert not healthy.done(), healthy
    finally:
        for task in (attacking, healthy):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.mark.parametrize("name", ATTACKS)
async def test_a_broker_lives_on_512_mib(tmp_path: Path, certificates: Certificates, name: str) -> None:
    async with besieged_broker(tmp_path, memory=MEMORY, files=None, **certificates.server_keys()) as broker:
        async with under_attack(ATTACKS[name], broker.port) as client:
            await client.answered(ANSWERS)
            assert client.refused == 0
        assert broker.process.returncode is None
        log = broker.log.read_text()
        assert "MemoryError" not in log
        assert "request failed" not in log


ROOT, APP = ("root", "root-secret"), ("app", "app-secret")
OPERATOR = "127.0.0.3"
ACCOUNTS = {
    "authenticationEnabled": "true", "authorizationEnabled": "true",
    "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
}  # fmt: skip
EVERYTHING = {"resource": "*", "actions": ["All"], "decision": "Allow"}


async def add_user(port: int) -> None:
    """One that policies are asked about, and are asked for everything."""
    async with strangers(port, OPERATOR) as (operator,):
        user, subject = {"username": APP[0], "password": APP[1]}, f"User:{APP[0]}"
        acl = {"subject": subject, "policies": [{"policyType": "Custom", "entries": [EVERYTHING]}]}
        made = await operator(RequestCode.AUTH_CREATE_USER, json.dumps(user).encode(), username=APP[0])
        assert made.code == 0, made.remark
        made = await operator(RequestCode.AUTH_CREATE_ACL, json.dumps(acl).encode(), subject=subject)
        assert made.code == 0, made.remark


@pytest.mark.parametrize(
    ("name", "attacker"),
    [("hostile frames", None), ("wrong signatures", None), ("heartbeats", APP), ("locks", APP), ("parked bodies", APP)],
)
async def test_a_broker_with_accounts_does(
    tmp_path: Path, name: str, attacker: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against strangers, and against somebody who has an account."""
    keys = {OPERATOR: ROOT, FRIEND: APP, **({STRANGER: attacker} if attacker else {})}
    monkeypatch.setattr(Stranger, "keys", keys)
    async with besieged_broker(tmp_path, memory=MEMORY, files=None, **ACCOUNTS) as broker:
        await add_user(broker.port)
        async with under_attack(ATTACKS[name], broker.port) as client:
            await client.answered(ANSWERS)
            assert client.refused == 0
        assert broker.process.returncode is None
        log = broker.log.read_text()
        assert "MemoryError" not in log
        assert "request failed" not in log


async def test_idle_connections_leave_the_store_its_files(tmp_path: Path) -> None:
    """Of 192 files; then every queue of forty topics is begun, and read."""
    async with besieged_broker(tmp_path, files=192, logLevel="INFO") as broker:
        async with strangers(broker.port, FRIEND) as (admin,), under_attack(connections, broker.port) as client:
            for number in range(40):
                sent = await admin(RequestCode.SEND_MESSAGE_V2, bytes(300_000), **send_fields(f"F{number}"))
                assert sent.code == 0, sent.remark
            for number in range(40):
                got = await admin(RequestCode.PULL_MESSAGE, **pull_fields(f"F{number}"))
                assert got.code == 0, got.remark
            assert client.refused == 0
        log = broker.log.read_text()
        assert "Too many open files" not in log
