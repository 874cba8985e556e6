"""What a program pays for: modules that a first send has no use for are not imported by it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from sprocketmq.testing import EmbeddedCluster

#: Heavy, and for servers, consumers, operators or programs of ours.
NOT_FOR_SENDING = {
    "click", "ctypes", "email", "http", "importlib.metadata", "lark", "logging.handlers", "lz4", "multiprocessing",
    "numpy", "opentelemetry", "pickle", "pyarrow", "rich", "sprocketmq.broker", "sprocketmq.cli",
    "sprocketmq.client.admin", "sprocketmq.client.pull", "sprocketmq.client.push",
    "sprocketmq.client.telemetry.trace", "sprocketmq.config", "sprocketmq.filter", "sprocketmq.metrics",
    "sprocketmq.nameserver", "sprocketmq.properties_file", "sprocketmq.protocol.headers.offsets",
    "sprocketmq.remoting.proxy_protocol", "sprocketmq.remoting.server", "sprocketmq.remoting.tls.contexts",
    "sprocketmq.remoting.tls.service", "sprocketmq.store", "tempfile", "zstandard",
}  # fmt: skip
NOT_FOR_IMPORTING = {
    *NOT_FOR_SENDING,
    "asyncio",
    "dataclasses",
    "logging",
    "orjson",
    "socket",
    "sprocketmq.client",
    "ssl",
}

SEND = """
import asyncio, sys
from sprocketmq import Message, Producer

async def main():
    async with Producer("g", sys.argv[1]) as producer:
        await producer.send(Message("imports", b"x"))

asyncio.run(main())
"""
SEND_WITHOUT_A_LOOP = """
import sys
from sprocketmq import Message
from sprocketmq.client.sync import Producer

with Producer("g", sys.argv[1]) as producer:
    producer.send(Message("imports", b"x"))
"""


@pytest.fixture(scope="module")
def nameserver() -> Iterator[str]:
    with EmbeddedCluster() as cluster:
        yield cluster.nameserver


def imported_by(program: str, *arguments: str) -> set[str]:
    """The modules of a process that has run `program`, without those that Python itself has begun with."""
    source = f"import sys\nbegan = set(sys.modules)\n{program}\nprint(*set(sys.modules) - began)"
    done = subprocess.run([sys.executable, "-c", source, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_alone_imports_next_to_nothing() -> None:
    assert imported_by("import sprocketmq") & NOT_FOR_IMPORTING == set()


@pytest.mark.parametrize("program", [SEND, SEND_WITHOUT_A_LOOP])
def test_a_first_send_imports_what_it_needs(program: str, nameserver: str) -> None:
    imported = imported_by(program, nameserver)
    assert imported & NOT_FOR_SENDING == set()
    assert "sprocketmq.client.producer.producer" in imported
