"""Client, commands and pytest plugin work where Unix's modules are missing, as they are on Windows.

Each program runs in a process of its own that has lost them; the broker it talks to is in ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.testing import EmbeddedCluster

#: What Windows lacks; run first in every child.
WITHOUT_UNIX = """
import asyncio, ctypes, os, signal, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "uvloop"):
    sys.modules[name] = None
for name in ("register_at_fork", "fork", "uname", "getuid", "sched_getaffinity", "posix_fadvise", "posix_fallocate"):
    if hasattr(os, name):
        delattr(os, name)

def refuse(*_arguments):
    raise NotImplementedError

asyncio.SelectorEventLoop.add_signal_handler = asyncio.SelectorEventLoop.remove_signal_handler = refuse
del signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL

class CDLL(ctypes.CDLL):
    def __init__(self, name, *more, **how):
        if name is None:
            raise TypeError("LoadLibrary() argument 1 must be str, not None")
        super().__init__(name, *more, **how)

ctypes.CDLL = CDLL
"""

ASYNC = """
import asyncio
from sprocketmq import ConsumerSettings, Message, Producer, PushConsumer

async def main(nameserver):
    async with Producer("g", nameserver) as producer:
        await producer.send(Message("windows-async", b"one"))
    consumer = PushConsumer("g", nameserver, settings=ConsumerSettings(consume_from="first"))

    @consumer.subscribe("windows-async")
    async def handle(message):
        print(message.body.decode())
        asyncio.ensure_future(consumer.stop())

    async with consumer:
        await consumer.run_forever()

asyncio.run(main(sys.argv[1]))
"""

THREADS = """
from sprocketmq import Message, PullSettings
from sprocketmq.client.sync import Producer, PullConsumer

with Producer("g", sys.argv[1]) as producer:
    producer.send(Message("windows-threads", b"one"))
with PullConsumer("g", sys.argv[1], settings=PullSettings(consume_from="first")) as consumer:
    consumer.subscribe("windows-threads")
    for message in consumer:
        print(message.body.decode())
        break
"""

SERVERS = """
import contextlib
from sprocketmq.cli.main import run
from sprocketmq.errors import ConfigError
for system in ("win32", "darwin"):
    sys.platform = system
    for command in ("up", "broker", "nameserver", "controller", "dashboard", "store"):
        sys.argv[1:] = [command]
        with contextlib.suppress(SystemExit):
            run()
    try:
        from sprocketmq.testing import EmbeddedCluster
    except ConfigError as error:
        print(error, file=sys.stderr)
"""

COMMAND = """
from sprocketmq.cli.main import run
sys.argv[1:] = ["topic", "list", "--nameserver", sys.argv[1]]
run()
"""

PLUGIN = """
import pytest
raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", "--collect-only", sys.argv[2]]))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as made:
        yield made


def run(program: str, *arguments: object) -> str:
    child = ended(program, *arguments)
    assert child.returncode == 0, child.stderr
    return child.stdout


def ended(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX + program, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONUTF8": "1"}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("program", [ASYNC, THREADS], ids=["asyncio", "threads"])
def test_a_message_goes_to_and_fro(cluster: EmbeddedCluster, program: str) -> None:
    assert run(program, cluster.nameserver) == "one\n"


def test_a_command_asks_the_cluster(cluster: EmbeddedCluster) -> None:
    with Producer("g", cluster.nameserver) as producer:
        producer.send(Message("seen-by-a-command", b"one"))
    assert "seen-by-a-command" in run(COMMAND, cluster.nameserver)


def test_servers_and_stores_say_in_one_line_that_they_need_linux() -> None:
    said = ended(SERVERS).stderr.splitlines()
    assert len(said) == 2 * 7, said
    assert all("needs Linux" in line for line in said), said


def test_the_plugin_disturbs_no_test_run(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    assert "test_it" in run(PLUGIN, cluster.nameserver, tmp_path)
