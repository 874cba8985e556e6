"""The log goes to slaves over TLS when the brokers say so; RocketMQ leaves this port open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.certificates import Certificates
from tests.unit.broker.replication.conftest import Hand, StartMember
from tests.unit.broker.replication.support import follows, until
from tests.unit.broker.support import Caller

from sprocketmq.config import from_properties
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.remoting.tls import stream
from sprocketmq.remoting.tls.layer import TlsTransport


@pytest_asyncio.fixture
async def nameserver(tmp_path: Path, certificates: Certificates) -> AsyncIterator[Nameserver]:
    places = {"kvConfigPath": str(tmp_path / "kv.json"), "configStorePath": str(tmp_path / "namesrv.properties")}
    keys = {**certificates.server_keys(tls_server_mode="enforcing"), "metricsExporterType": "DISABLE"}
    entries = {"bindAddress": "127.0.0.1", "listenPort": "0", **places, **keys}
    server = Nameserver(from_properties(NameserverConfig, entries))
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def keys(certificates: Certificates) -> dict[str, str]:
    """Calls over TLS, and a certificate."""
    return {
        **certificates.server_keys(), "tls.enable": "true", "tls.client.trustCertPath": str(certificates.ca),
        "brokerIP1": "127.0.0.1",
    }  # fmt: skip


async def test_the_log_is_encrypted(
    start_member: StartMember, keys: dict[str, str], certificates: Certificates
) -> None:
    master = await start_member(**keys, **{"tls.server.mode": "enforcing"})
    slave = await start_member(1, **keys)
    caller = Caller(master, ssl=certificates.caller())
    for _ in range(30):
        await caller.send("T", bytes(200))
    await follows(slave, master)
    (link,) = master.replication.master.replicas.links
    assert isinstance(link._transport, TlsTransport)
    await caller.client.close(0.1)


async def test_plain_slaves_where_tls_is_enforced(start_member: StartMember, keys: dict[str, str], hand: Hand) -> None:
    master = await start_member(**keys, **{"tls.server.mode": "enforcing"})
    slave = await hand(master)
    slave.report(0)
    assert await slave.is_closed()
    assert master.replication.master.replicas.links == []


async def test_slaves_of_apache_follow_in_plain(start_member: StartMember, keys: dict[str, str], hand: Hand) -> None:
    master = await start_member(**keys)
    assert master.store.put("T", 0, 0, 0, b"x", b"", 1, bytes(8), 0, 0).status == 0
    slave = await hand(master)
    slave.report(0)
    assert len(await slave.log(master.store.log.max_offset)) == master.store.log.max_offset


async def test_strangers_take_no_place_of_a_slave(
    start_member: StartMember, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are turned away before they have said anything, however many of them come."""
    monkeypatch.setattr(stream, "OPENING_SECONDS", 3600)
    monkeypatch.setattr(stream, "MAX_OPENING", 2)
    master = await start_member(**keys, adminAllowLocal="false", brokerAllowFrom="127.0.0.1")
    port = master.replication.master.port
    made = [await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.9", 0)) for _ in range(5)]
    slave = await start_member(1, **keys)
    assert master.store.put("T", 0, 0, 0, b"x", b"", 1, bytes(8), 0, 0).status == 0
    await follows(slave, master)
    async with asyncio.timeout(60):
        for reader, writer in made:
            assert await reader.read() == b""
            writer.close()


async def test_those_who_say_nothing_are_few_and_do_not_stay(
    start_member: StartMember, keys: dict[str, str], hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "OPENING_SECONDS", 0.2)
    monkeypatch.setattr(stream, "MAX_OPENING", 2)
    master = await start_member(**keys)
    silent = [await hand(master) for _ in range(3)]
    async with asyncio.timeout(60):
        for each in silent:
            assert await each.is_closed()
    half = await hand(master)
    half.writer.write(b"\x16\x03\x01")
    assert await half.is_closed()
    await until(lambda: master.replication.master.replicas.links == [])
