"""The broker and the client that are counted, and the cluster that the client sends to."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.instructions.callgrind import Counted

#: Under callgrind one request takes more than the share of time of a whole read, and the rest would wait for its turn.
SERVER = """
from sprocketmq.remoting.limits import Limits
Limits.__init__.__kwdefaults__["read_share_seconds"] = 60.0
from sprocketmq.cli.main import main
main()
"""
#: From a read to the write of what answers it, by the name that C has for it in every checkout.
ANSWERING = "__pyx_pw_10sprocketmq_8remoting_7traffic_7Traffic_*data_received"
#: A client that says when it is ready for the next count, and that it is through.
CLIENT = """
import asyncio, sys
from sprocketmq.client import Message, Producer

async def send(producer, number):
    for _ in range(number):
        await producer.send(Message("client", b"x" * 128))

async def send_keyed(producer, number):
    for _ in range(number):
        await producer.send(Message("client", b"x" * 128, sharding_key="k"))

async def send_batches(producer, number):
    for _ in range(number):
        await producer.send_batch([Message("client", b"x" * 128) for _ in range(32)])

async def submit(producer, number):
    for _ in range(number):
        await asyncio.gather(*[producer.submit(Message("client", b"x" * 128)) for _ in range(32)])

async def main():
    async with Producer("g", sys.argv[1]) as producer:
        for line in sys.stdin:
            what, number = line.split()
            do = {"send": send, "keyed": send_keyed, "batch": send_batches, "submit": submit}[what]
            await do(producer, int(number))
            print("done", flush=True)

asyncio.run(main())
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def broker(checkout: Path, folder: Path, inside: str = "", flush: str = "ASYNC_FLUSH") -> Iterator[tuple[Counted, int]]:
    port = free_port()
    config = folder / f"broker-{port}.conf"
    config.write_text(f"flushDiskType={flush}\nbrokerFastFailureEnable=false\n")  # nobody is refused for slowness
    arguments = ["-c", SERVER, "broker", "--port", str(port), "--data", str(folder / f"store-{port}")]
    arguments += ["--config", str(config)]
    process = Counted(checkout, folder, arguments, inside)
    try:
        assert process.process.stdout is not None
        process.process.stdout.readline()  # "ready on"
        process.settle()
        yield process, port
    finally:
        process.end()


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    ports = ["--nameserver-port", str(free_port()), "--port", str(free_port())]
    command = [sys.executable, "-m", "sprocketmq", "up", "--data", str(folder / "data"), *ports]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "broker" in line and "ready" in line:
                break
        try:
            yield f"127.0.0.1:{ports[1]}"
        finally:
            process.terminate()
