from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprocketmq.cli.serve.systemd import Notifier


@pytest.fixture
def listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as received:
        received.bind(str(tmp_path / "notify"))
        received.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.delenv("WATCHDOG_USEC", raising=False)
        yield received


async def test_ready_then_stopping(listening: socket.socket) -> None:
    with Notifier() as systemd:
        systemd.ready("nameserver, broker-a")
        assert listening.recv(4096) == b"READY=1\nSTATUS=nameserver, broker-a"
        systemd.stopping()
        assert listening.recv(4096) == b"STOPPING=1"


async def test_the_watchdog_hears_of_a_loop_that_turns(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "2000")
    with Notifier() as systemd:
        systemd.ready("broker")
        assert listening.recv(4096).startswith(b"READY=1")
        for _ in range(3):
            assert await asyncio.to_thread(listening.recv, 4096) == b"WATCHDOG=1"
        systemd.stopping()
    listening.settimeout(0)
    assert _all_that_waits(listening)[-1] == b"STOPPING=1"


def _all_that_waits(listening: socket.socket) -> list[bytes]:
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            found.append(listening.recv(4096))
    return found


async def test_without_systemd_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    with Notifier() as systemd:
        systemd.ready("broker")
        systemd.stopping()


async def test_an_abstract_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as received:
        received.bind("")  # the system chooses a name
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + received.getsockname()[1:].decode())
        Notifier().ready("broker")
        received.settimeout(60)
        assert received.recv(4096).startswith(b"READY=1")
