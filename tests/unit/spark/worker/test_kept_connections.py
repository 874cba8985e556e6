"""Connections from one task to the next."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from sprocketmq.client.blocking.connection import BlockingConnection
from sprocketmq.spark.options.connection import Connect
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.worker.kept_connections import kept_cluster


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        yield listening


@pytest.fixture
def address(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def connect(address: str) -> Connect:
    return Connect((address,))


def test_the_next_task_gets_the_same_connection(connect: Connect, address: str) -> None:
    with kept_cluster(connect) as first:
        connection = first.connection(address)
    with kept_cluster(connect) as second:
        assert second.connection(address) is connection
        second.close()


def test_a_connection_that_ended_meanwhile_is_made_anew(connect: Connect, address: str, server: socket.socket) -> None:
    with kept_cluster(connect) as first:
        connection = first.connection(address)
    peer, _ = server.accept()
    peer.close()
    with kept_cluster(connect) as second:
        assert second.connection(address) is not connection
        second.close()


def fail(_connection: BlockingConnection) -> None:
    raise OptionError("topic", "is wrong")


def test_what_a_failed_task_used_is_closed(connect: Connect, address: str, server: socket.socket) -> None:
    with pytest.raises(OptionError), kept_cluster(connect) as first:
        fail(first.connection(address))
    peer, _ = server.accept()
    with peer:
        assert peer.recv(1) == b""
    with kept_cluster(connect) as second:
        assert second is not first


def test_tasks_at_the_same_time_share_nothing(connect: Connect, address: str) -> None:
    with kept_cluster(connect) as first, kept_cluster(connect) as second:
        assert first is not second
        kept = first.connection(address), second.connection(address)
    with kept_cluster(connect) as third:
        assert third.connection(address) in kept
        third.close()
