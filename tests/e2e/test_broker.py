"""The commands that run servers, driven from outside over loopback."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.process import free_port

from .processes import Sprocket, Wire, running


def up(data: Path, *more: object) -> contextlib.AbstractContextManager[Sprocket]:
    return running("up", "--data", data, "--nameserver-port", 0, "--port", 0, "--dashboard-port", 0, *more)


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    with up(tmp_path / "data") as sprocket:
        yield sprocket.ready("nameserver", "broker-a").wire("broker-a")


def test_one_command_runs_everything_and_a_second_start_goes_on(tmp_path: Path) -> None:
    for turn in range(2):
        with up(tmp_path / "data") as sprocket:
            sprocket.ready("nameserver", "broker-a")
            client = sprocket.wire("broker-a")
            for number in range(3):
                answer = client.send(b"%d" % number)
                assert answer["code"] == 0
                assert answer["extFields"]["queueOffset"] == str(turn * 3 + number)  # type: ignore[index]
            assert client.pull() == [b"0", b"1", b"2"] * (turn + 1)
            route, body = sprocket.wire("nameserver").call(105, {"topic": "orders"})
            assert route["code"] == 0
            assert b'"brokerName":"broker-a"' in body
            code, errors = sprocket.end()
            assert code == 0
            assert "Traceback" not in errors


def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    options = ("--set", "flushDiskType=SYNC_FLUSH")
    with up(tmp_path / "data", *options) as sprocket:
        client = sprocket.ready("broker-a").wire("broker-a")
        for number in range(20):
            assert client.send(b"%d" % number)["code"] == 0
        sprocket.end(signal.SIGKILL)
    with up(tmp_path / "data", *options) as sprocket:
        client = sprocket.ready("broker-a").wire("broker-a")
        assert client.pull() == [b"%d" % number for number in range(20)]
        assert client.send(b"more")["code"] == 0


def test_several_brokers_are_processes_and_a_dead_one_comes_back(tmp_path: Path) -> None:
    port = free_port(1, 10, 11)  # each with that of its replication behind it
    with running(
        "up", "--data", tmp_path / "data", "--nameserver-port", 0, "--port", port, "--brokers", 2, "--dashboard-port", 0
    ) as sprocket:
        sprocket.ready("nameserver", "broker-a", "broker-b")
        assert sprocket.ports["broker-b"] == port + 10
        client = sprocket.wire("broker-a")
        assert client.send(b"kept")["code"] == 0
        os.kill(child_on(sprocket.process.pid, "broker-a"), signal.SIGKILL)
        del sprocket.ports["broker-a"]
        sprocket.ready("broker-a")
        assert sprocket.wire("broker-a").pull() == [b"kept"]
        assert sprocket.end()[0] == 0


def child_on(parent: int, name: str) -> int:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return next(int(pid) for pid in children if name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes())


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        (["--set", "listenPort=high"], 2, "listenPort"),
        (["--set", "flushDiskType=SOMETIMES"], 2, "flushDiskType"),
        (["--set", "nonsense"], 2, "nonsense"),
        (["-c", "/no/such/broker.conf"], 2, "/no/such/broker.conf"),
        (["--set", "brokerRole=SLAVE"], 2, "brokerId"),
    ],
)
def test_a_configuration_that_cannot_be_is_one_line_that_names_the_key(
    tmp_path: Path, options: list[str], code: int, named: str
) -> None:
    with running("broker", "--data", tmp_path, *options) as sprocket:
        sprocket.process.wait(60)
        found, errors = sprocket.end()
        assert found == code
        assert named in errors
        assert len(errors.strip().splitlines()) == 1


def test_a_store_that_is_in_use_is_one_line(tmp_path: Path) -> None:
    with running("broker", "--data", tmp_path, "--port", 0, "--set", "brokerName=b") as first:
        first.ready("b")
        with running("broker", "--data", tmp_path, "--port", 0) as second:
            second.process.wait(60)
            code, errors = second.end()
            assert code == 1
            assert len(errors.strip().splitlines()) == 1


def test_a_broker_conf_of_rocketmq_is_read(tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(
        f"brokerClusterName = Mine\nbrokerName=broker-x\nbrokerId=0\ndeleteWhen=04\nfileReservedTime=48\n"
        f"brokerRole=ASYNC_MASTER\nflushDiskType=ASYNC_FLUSH\nstorePathRootDir={tmp_path}/store\nlistenPort=0\nodd=1\n"
    )
    with running("broker", "-c", conf) as sprocket:
        sprocket.ready("broker-x")
        assert sprocket.wire("broker-x").send(b"x")["code"] == 0
        code, errors = sprocket.end()
        assert code == 0
        assert 'event="unknown configuration key" key=odd' in errors
        assert (tmp_path / "store/commitlog").is_dir()


def test_mutated_frames_crash_nothing_and_good_clients_are_served(wire: Wire) -> None:
    """A seeded generator: whole frames with bytes changed, cut off, or made up."""
    port = wire.socket.getpeername()[1]
    source = random.Random(20_261_115)
    wire.send(b"first")
    frames = [frame(b'{"code":%d,"opaque":1,"extFields":{"b":"orders","e":"0"}}' % code) for code in range(0, 60)]
    for turn in range(400):
        data = bytearray(b"".join(source.choices(frames, k=25)))
        for _ in range(source.randrange(8)):
            data[source.randrange(len(data))] = source.randrange(256)
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as bad:
            bad.sendall(bytes(data[: source.randrange(1, len(data))]))
        if turn % 50 == 0:
            assert wire.send(b"good")["code"] == 0
    assert wire.pull()[0] == b"first"


def frame(header: bytes) -> bytes:
    return (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header


def test_ten_thousand_idle_connections_are_held(tmp_path: Path) -> None:
    count = 10_000
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 500:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the child inherits it
    with up(tmp_path / "data") as sprocket:
        port = sprocket.ready("broker-a").ports["broker-a"]
        idle = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(count)]
        client = sprocket.wire("broker-a")
        assert client.send(b"served")["code"] == 0
        assert client.pull() == [b"served"]
        for each in idle:
            each.close()


def test_a_client_that_floods_without_reading_does_not_grow_the_broker(wire: Wire) -> None:
    port = wire.socket.getpeername()[1]
    for _ in range(40):
        wire.send(b"x" * 60_000)
    pid = owner_of(port)
    before = resident_bytes(pid)
    ext = (
        b'"consumerGroup":"G","topic":"orders","queueId":"0","queueOffset":"0","maxMsgNums":"32","sysFlag":"4",'
        b'"commitOffset":"0","suspendTimeoutMillis":"0","subVersion":"0","subscription":"*"'
    )
    pulls = frame(b'{"code":11,"opaque":1,"version":479,"extFields":{%b}}' % ext) * 200
    with socket.create_connection(("127.0.0.1", port), timeout=60) as flood, contextlib.suppress(OSError):
        flood.settimeout(1)  # the wire is full: the broker reads no more
        until = time.monotonic() + 3
        while time.monotonic() < until:
            flood.sendall(pulls)
    assert resident_bytes(pid) - before < 128 << 20
    assert wire.send(b"still served")["code"] == 0


def owner_of(port: int) -> int:
    """The process that listens on a port."""
    inode = next(
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    )
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            if any(str(link.readlink()) == f"socket:[{inode}]" for link in folder.iterdir()):
                return int(folder.parent.name)
    raise AssertionError(f"nobody listens on {port}")


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
