"""A broker as a whole: restarts, the lock, the nameservers."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.peers.process import free_port
from tests.unit.broker.support import Caller, bodies, make_broker

from sprocketmq.broker.cluster.addresses import own_address, packed_host
from sprocketmq.broker.periodic import Periodic
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConfigError, ConnectFailed, FlushFailed, StoreCorrupt, StoreLocked
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.registration import RegisterBrokerBody
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, ProcessorTable, RemotingClient, RemotingServer, Reply

from .conftest import StartBroker


async def test_a_second_start_goes_on_where_the_first_ended(start_broker: StartBroker) -> None:
    first = await start_broker()
    caller = Caller(first)
    for number in range(3):
        await caller.send(body=b"%d" % number)
    await caller.client.close(grace=0.1)
    await first.stop()
    second = await start_broker()
    caller = Caller(second)
    await caller.send(body=b"3")
    assert bodies(await caller.pull()) == [b"0", b"1", b"2", b"3"]
    await caller.client.close(grace=0.1)


async def test_it_is_ready_while_it_serves_and_its_store_takes_messages(start_broker: StartBroker) -> None:
    broker = await start_broker()
    assert broker.unready() == []
    broker.store.fail(FlushFailed("commitlog/0: no space"))
    assert broker.unready() == ["the store takes no messages: commitlog/0: no space"]
    await broker.stop()
    assert broker.unready()[0] == "starting or stopping"


async def test_one_directory_has_one_broker(start_broker: StartBroker, tmp_path: Path) -> None:
    await start_broker()
    with pytest.raises(StoreLocked):
        await make_broker(tmp_path / "store").start()


async def test_a_port_that_is_taken_leaves_the_store_free(start_broker: StartBroker, tmp_path: Path) -> None:
    broker = await start_broker()
    other = make_broker(tmp_path / "other", listenPort=str(broker.port))
    with pytest.raises(OSError, match="in use"):
        await other.start()
    again = make_broker(tmp_path / "other")
    await again.start()
    await again.stop()


TABLES = ["topics", "subscriptionGroup", "consumerOffset", "consumerFilter", "topicQueueMapping", "delayOffset"]


@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize("table", TABLES)
async def test_a_table_that_cannot_be_read_leaves_the_store_free(
    start_broker: StartBroker, tmp_path: Path, table: str, crashed: bool
) -> None:
    broker = await start_broker()
    caller = Caller(broker)
    await caller.send(body=b"kept")
    await caller.client.close(grace=0.1)
    await broker.stop()
    threads = set(threading.enumerate())
    path, abort = tmp_path / f"store/config/{table}.json", tmp_path / "store/abort"
    if crashed:
        abort.touch()
    kept = path.read_bytes() if path.exists() else None
    backup = path.with_name(f"{path.name}.bak")
    backup.unlink(missing_ok=True)
    path.write_bytes(b"{")
    with pytest.raises(StoreCorrupt):
        await make_broker(tmp_path / "store").start()
    assert set(threading.enumerate()) <= threads
    assert abort.exists() == crashed or table == "delayOffset"
    path.unlink() if kept is None else path.write_bytes(kept)
    caller = Caller(await start_broker())
    assert bodies(await caller.pull()) == [b"kept"]
    await caller.client.close(grace=0.1)


QUESTION = Command(RequestCode.GET_MAX_OFFSET, ext_fields={"topic": "TBW102", "queueId": "0"})


async def test_the_vip_port_is_served_too(start_broker: StartBroker) -> None:
    port = free_port(-2)
    broker = await start_broker(listenPort=str(port))
    async with asyncio.timeout(60):
        client = RemotingClient()
        assert (await client.call(f"127.0.0.1:{port - 2}", QUESTION, 60)).code == ResponseCode.SUCCESS
        await client.close(grace=0.1)
    await broker.stop()
    with pytest.raises(ConnectFailed):
        await RemotingClient().connect(f"127.0.0.1:{port - 2}")


async def test_a_vip_port_that_is_taken_or_not_wanted_is_left_alone(
    start_broker: StartBroker, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port(-2)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port - 2))
        other.listen()
        await (await start_broker(listenPort=str(port))).stop()
    assert any("no VIP port" in record.getMessage() for record in caplog.records)
    await start_broker(listenPort=str(port), vipChannelEnable="false")
    with pytest.raises(ConnectFailed):
        await RemotingClient().connect(f"127.0.0.1:{port - 2}")


class Nameserver:
    """Takes registrations and remembers them."""

    def __init__(self) -> None:
        self.registered: list[tuple[dict[str, str], RegisterBrokerBody]] = []
        self.left: list[dict[str, str]] = []
        self.heard = asyncio.Event()
        table = ProcessorTable()
        table.add(RequestCode.REGISTER_BROKER, self._register)
        table.add(RequestCode.UNREGISTER_BROKER, self._unregister)
        self.server = RemotingServer(table, "127.0.0.1", 0)

    def _register(self, _connection: Connection, request: Command) -> Reply:
        self.registered.append((request.ext_fields or {}, codec.decode(RegisterBrokerBody, request.body)))
        self.heard.set()
        return request.reply()

    def _unregister(self, _connection: Connection, request: Command) -> Reply:
        self.left.append(request.ext_fields or {})
        return request.reply()

    def topics(self) -> set[str]:
        return set(self.registered[-1][1].topic_config_serialize_wrapper.topic_config_table)


@pytest_asyncio.fixture
async def nameservers() -> AsyncIterator[list[Nameserver]]:
    servers = [Nameserver(), Nameserver()]
    for nameserver in servers:
        await nameserver.server.start()
    yield servers
    for nameserver in servers:
        await nameserver.server.stop(grace=0.2)


async def test_every_nameserver_hears_of_the_broker_its_topics_and_its_end(
    start_broker: StartBroker, nameservers: list[Nameserver]
) -> None:
    addresses = ";".join(f"127.0.0.1:{each.server.port}" for each in nameservers)
    broker = await start_broker(namesrvAddr=addresses, haListenPort="10999")
    for nameserver in nameservers:
        header, _body = nameserver.registered[0]
        assert header["brokerAddr"] == broker.address
        assert (header["brokerName"], header["brokerId"], header["clusterName"]) == ("broker-a", "0", "DefaultCluster")
        assert header["haServerAddr"] == "127.0.0.1:10999"
        assert "TBW102" in nameserver.topics()
        nameserver.heard.clear()
    caller = Caller(broker)
    await caller.send("fresh")
    for nameserver in nameservers:
        await asyncio.wait_for(nameserver.heard.wait(), 60)
        assert nameserver.topics() == {"fresh"}  # what changed, and that alone
        nameserver.heard.clear()
    await broker.topics.delete("fresh")
    await asyncio.wait_for(nameservers[0].heard.wait(), 60)
    assert "fresh" not in nameservers[0].topics()
    assert "TBW102" in nameservers[0].topics()
    await caller.client.close(grace=0.1)
    await broker.stop()
    assert [each.left[0]["brokerName"] for each in nameservers] == ["broker-a", "broker-a"]


async def test_a_read_only_broker_registers_read_only_topics(
    start_broker: StartBroker, nameservers: list[Nameserver]
) -> None:
    await start_broker(namesrvAddr=f"127.0.0.1:{nameservers[0].server.port}", brokerPermission="4")
    table = nameservers[0].registered[0][1].topic_config_serialize_wrapper.topic_config_table
    assert table["BenchmarkTest"].perm == 4


async def test_a_nameserver_that_is_away_does_not_keep_the_broker_from_serving(start_broker: StartBroker) -> None:
    broker = await start_broker(namesrvAddr="127.0.0.1:1")
    caller = Caller(broker)
    assert (await caller.send()).code == ResponseCode.SUCCESS
    await caller.client.close(grace=0.1)


async def test_requests_that_nobody_knows_are_answered(caller: Caller) -> None:
    assert (await caller(9999)).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert (await caller.send()).code == ResponseCode.SUCCESS


def test_hosts_are_packed_as_records_hold_them() -> None:
    assert packed_host("10.0.0.1", 10911) == bytes([10, 0, 0, 1]) + (10911).to_bytes(4, "big")
    assert packed_host("localhost", 1)[-4:] == b"\0\0\0\1"
    assert len(packed_host("::1", 1)) == 20
    assert packed_host(own_address(), 0)
    with pytest.raises(ConfigError, match="brokerIP1"):
        packed_host("no such host.invalid", 1)


async def test_a_job_that_fails_is_done_again() -> None:
    done = asyncio.Event()
    turns = []

    def job() -> None:
        turns.append(1)
        if len(turns) > 2:
            done.set()
        raise ValueError("again")

    periodic = Periodic("test", lambda: 0.001, job)
    periodic.start()
    await asyncio.wait_for(done.wait(), 60)
    periodic.stop()


async def test_filters_are_made_ready_after_the_start_beside_the_loop(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, threads = asyncio.Event(), list[str]()
    loop = asyncio.get_running_loop()

    def compile_beside(_text: str) -> None:
        threads.append(threading.current_thread().name)
        loop.call_soon_threadsafe(compiled.set)

    monkeypatch.setattr("sprocketmq.broker.background_jobs.compile_sql", compile_beside)
    monkeypatch.setattr("sprocketmq.broker.background_jobs._WARMING_SECONDS", 0)
    broker = await start_broker(enablePropertyFilter="true")
    caller = Caller(broker)
    assert (await caller.send()).code == ResponseCode.SUCCESS
    await caller.client.close(grace=0.1)
    await asyncio.wait_for(compiled.wait(), 30)
    assert threads != [threading.main_thread().name]
