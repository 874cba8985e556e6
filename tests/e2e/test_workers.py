"""Workers as they are deployed: a process that consumes until a signal ends it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers.servers import Cluster

from sprocketmq.client import Message
from sprocketmq.client.sync import Producer, PullConsumer

pytestmark = pytest.mark.interop

Unique = Callable[[str], str]

ASYNC = """
import asyncio, sys
from sprocketmq import ConsumerSettings, PushConsumer

async def main():
    settings = ConsumerSettings(consume_from="first", persist_interval=3600)
    consumer = PushConsumer(sys.argv[2], sys.argv[1], settings=settings)

    @consumer.subscribe(sys.argv[3])
    async def handle(message):
        print("begun", flush=True)
        await asyncio.sleep(0.5)
        print("handled", flush=True)

    async with consumer:
        await consumer.run_forever()
    print("ended", flush=True)

asyncio.run(main())
"""

THREADS = """
import sys, time
from sprocketmq import ConsumerSettings
from sprocketmq.client.sync import PushConsumer

settings = ConsumerSettings(consume_from="first", persist_interval=3600)
consumer = PushConsumer(sys.argv[2], sys.argv[1], settings=settings)

@consumer.subscribe(sys.argv[3])
def handle(message):
    print("begun", flush=True)
    time.sleep(0.5)
    print("handled", flush=True)

with consumer:
    consumer.run_forever()
print("ended", flush=True)
"""

HANGING = """
import sys, threading
from sprocketmq import ConsumerSettings
from sprocketmq.client.sync import PushConsumer

consumer = PushConsumer(sys.argv[2], sys.argv[1], settings=ConsumerSettings(consume_from="first", stop_timeout=0.1))

@consumer.subscribe(sys.argv[3])
def handle(message):
    print("begun", flush=True)
    threading.Event().wait()

with consumer:
    consumer.run_forever()
print("ended", flush=True)
"""

DEAF = """
import asyncio, sys
from sprocketmq import ConsumerSettings, PushConsumer

async def main():
    settings = ConsumerSettings(consume_from="first", stop_timeout=0.1)
    consumer = PushConsumer(sys.argv[2], sys.argv[1], settings=settings)

    @consumer.subscribe(sys.argv[3])
    async def handle(message):
        print("begun", flush=True)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    async with consumer:
        await consumer.run_forever()
    print("ended", flush=True)

asyncio.run(main())
"""


def until_it_catches(pid: int, number: signal.Signals) -> None:
    status = Path(f"/proc/{pid}/status")
    while True:
        (caught,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
        if int(caught, 16) >> (number - 1) & 1:
            return


def ended_by(number: signal.Signals, script: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output behind the first line, and errors of a worker that gets a signal in its handler."""
    worker = subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "begun\n"
        until_it_catches(worker.pid, signal.SIGTERM)  # from here on it is in `run_forever`
        worker.send_signal(number)
        out, errors = worker.communicate(timeout=60)
    finally:
        worker.kill()
    return worker.returncode, out, errors


@pytest.mark.parametrize("program", [ASYNC, THREADS], ids=["asyncio", "threads"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_with_its_place_kept(
    cluster: Cluster, unique: Unique, tmp_path: Path, program: str, number: signal.Signals
) -> None:
    topic, group = unique("topic"), unique("g")
    with Producer(unique("pg"), cluster.address) as producer:
        queue = producer.send(Message(topic, b"one")).queue
    script = tmp_path / "worker.py"
    script.write_text(program)
    code, out, errors = ended_by(number, script, cluster.address, group, topic)
    assert (code, out) == (0, "handled\nended\n")
    assert "Traceback" not in errors
    with PullConsumer(group, cluster.address) as consumer:
        assert consumer.committed(queue) == 1, errors


@pytest.mark.parametrize("program", [HANGING, DEAF], ids=["a thread that hangs", "a coroutine that is not cancelled"])
def test_a_handler_that_never_ends_does_not_keep_the_process(
    cluster: Cluster, unique: Unique, tmp_path: Path, program: str
) -> None:
    topic, group = unique("topic"), unique("g")
    with Producer(unique("pg"), cluster.address) as producer:
        queue = producer.send(Message(topic, b"one")).queue
    script = tmp_path / "worker.py"
    script.write_text(program)
    code, out, errors = ended_by(signal.SIGTERM, script, cluster.address, group, topic)
    assert (code, out) == (0, "ended\n")
    assert "Traceback" not in errors
    with PullConsumer(group, cluster.address) as consumer:
        assert not consumer.committed(queue)
