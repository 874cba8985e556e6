"""What a program pays for: a first send imports what it needs, and nothing else.

Ours are listed one by one in tests/data/first_send.txt, so that a module which joins them does so on purpose:

    python -m tests.unit.client.test_imports     writes the list anew, of the interpreted form
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprocketmq.testing import EmbeddedCluster

LISTED = Path(__file__).parents[2] / "data" / "first_send.txt"
#: Of others, beyond what asyncio, TLS and orjson import by themselves: what a first send may import.
FOREIGN = {
    "__future__", "_bisect", "_queue", "_random", "_sha2", "_sha512", "bisect", "concurrent", "gc", "importlib",
    "ipaddress", "queue", "random", "resource", "uvloop", "zlib",
}  # fmt: skip
#: Heavy, and for servers, consumers, operators or programs of ours.
NOT_FOR_SENDING = {
    "click", "ctypes", "decimal", "email", "hashlib", "http", "importlib.metadata", "lark", "logging.handlers", "lz4",
    "multiprocessing", "numpy", "opentelemetry", "pathlib", "pickle", "pyarrow", "rich", "sprocketmq.broker",
    "sprocketmq.cli", "sprocketmq.client.admin", "sprocketmq.client.pull", "sprocketmq.client.push",
    "sprocketmq.client.telemetry.trace", "sprocketmq.config", "sprocketmq.filter", "sprocketmq.metrics",
    "sprocketmq.nameserver", "sprocketmq.properties_file", "sprocketmq.protocol.headers.offsets",
    "sprocketmq.remoting.proxy_protocol", "sprocketmq.remoting.server", "sprocketmq.remoting.tls.contexts",
    "sprocketmq.remoting.tls.service", "sprocketmq.store", "tempfile", "urllib.parse", "zstandard",
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


def ours(imported: set[str]) -> set[str]:
    """Our modules of source: what Cython needs for the compiled ones has none."""
    return {name for name in imported if name.split(".")[0] == "sprocketmq"} - {"sprocketmq.hot._cyutility"}


def is_of_cython(name: str) -> bool:
    return name.lower().startswith(("cython", "_cython", "_cyutility"))


def test_a_first_send_imports_the_modules_of_the_list(nameserver: str) -> None:
    imported, listed = ours(imported_by(SEND, nameserver)), set(LISTED.read_text().split())
    only_interpreted = {f"sprocketmq.hot.{name}" for name in ("crc32", "memory", "octets", "tuples")}
    only_interpreted.add("sprocketmq.protocol.record.batch")  # for a number; all of them are compiled in elsewhere
    assert imported - listed == set(), "a first send imports more than it did"
    assert listed - imported <= only_interpreted, "a first send imports less: write the list anew"


@pytest.mark.parametrize("program", [SEND, SEND_WITHOUT_A_LOOP])
def test_a_first_send_imports_little_of_others(program: str, nameserver: str) -> None:
    foreign = imported_by(program, nameserver) - imported_by("import asyncio, orjson, ssl")
    tops = {name.split(".")[0] for name in foreign if not is_of_cython(name)}
    assert tops - {"sprocketmq"} <= FOREIGN


@pytest.mark.parametrize("program", [SEND, SEND_WITHOUT_A_LOOP])
def test_a_first_send_imports_what_it_needs(program: str, nameserver: str) -> None:
    imported = imported_by(program, nameserver)
    assert imported & NOT_FOR_SENDING == set()
    assert "sprocketmq.client.producer.producer" in imported


if __name__ == "__main__":
    with EmbeddedCluster() as running:
        LISTED.write_text("\n".join(sorted(ours(imported_by(SEND, running.nameserver)))) + "\n")
