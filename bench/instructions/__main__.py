"""Instructions per request, this checkout beside another, counted by callgrind: steady on a busy machine, unlike time.

    python -m bench.instructions OTHER [--requests N]       OTHER is another checkout, compiled in place

A server under callgrind is sent the same frames over one plain socket, each when the one before it was answered, or as
many at once as one read brings. What is counted is from a read of the socket to the write of the answers
(`data_received`): nothing that runs by the clock is in it. Of a long poll, of sends that wait for the disk, and of a
client that sends to a broker of this checkout, everything is counted. Counting begins when the server has come to rest,
for it goes on to import after it is ready; the least of three counts is printed, divided by the number of requests.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sprocketmq.codes import SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame

HERE = Path(__file__).parents[2]
COUNTS = 3
#: Requests that come together.
MANY = 64
#: Under callgrind one request takes more than the share of time of a whole read, and the rest would wait for its turn.
SERVER = """
from sprocketmq.remoting.limits import Limits
Limits.__init__.__kwdefaults__["read_share_seconds"] = 60.0
from sprocketmq.cli.main import main
main()
"""
#: From a read to the write of what answers it, by the name that C has for it in every checkout.
ANSWERING = "__pyx_pw_10sprocketmq_8remoting_7traffic_7Traffic_*data_received"
KEY = "UNIQ_KEY\x01AC1400010001070DEA4E0000001F0001\x02WAIT\x01true\x02TAGS\x01a"
OURS = "WAIT\x01true"
BODY = b"x" * 128
#: A client that says when it is ready for the next count, and that it is through.
CLIENT = """
import asyncio, sys
from sprocketmq.client import Message, Producer

async def send(producer, number):
    for _ in range(number):
        await producer.send(Message("client", b"x" * 128))

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
            await {"send": send, "batch": send_batches, "submit": submit}[what](producer, int(number))
            print("done", flush=True)

asyncio.run(main())
"""


class Counted:
    """A process under callgrind, which counts only what it does inside of `count`."""

    def __init__(self, checkout: Path, folder: Path, arguments: list[str], inside: str = "") -> None:
        """With `inside`, only while the function of that name runs."""
        self._out = folder / f"callgrind-{len(list(folder.iterdir()))}"
        options = [
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={self._out}",
            "--log-file=/dev/null",
        ]
        if inside:
            options.append(f"--toggle-collect={inside}")
        environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
        command = ["valgrind", *options, sys.executable, *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True, cwd=folder)
        self._dumps = 0

    def count(self, act: Callable[[], object]) -> int:
        self._control("-i", "on")
        self._control("-z")
        act()
        self._control("-d")
        self._control("-i", "off")
        self._dumps += 1
        text = Path(f"{self._out}.{self._dumps}").read_text()
        found = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        return int(found[1]) if found else 0

    def settle(self) -> None:
        """Wait until it does next to nothing."""
        before, now = -1.0, self._cpu_seconds()
        while now - before > 0.3:
            time.sleep(3)
            before, now = now, self._cpu_seconds()

    def _cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _control(self, *arguments: str) -> None:
        subprocess.run(["callgrind_control", *arguments, str(self.process.pid)], capture_output=True, check=True)

    def ask(self, line: str) -> None:
        """Of a client: do this, and say when it is done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Wire:
    """One request at a time over a plain socket."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=600)
        self._file = self._socket.makefile("rb")

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def answer(self) -> bytes:
        (length,) = struct.unpack(">I", self._file.read(4))
        return self._file.read(length)

    def ask(self, frame: bytes, times: int = 1) -> None:
        """Send it so many times at once, and wait for as many answers."""
        self.send(frame * times)
        for _ in range(times):
            self.answer()


def send_frame(properties: str, serialize_type: int = SerializeType.ROCKETMQ, batch: int = 0) -> bytes:
    fields = {
        "a": "G", "b": "broker", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1700000000000", "h": "0",
        "i": properties, "j": "0", "k": "false", "m": "true" if batch else "false",
    }  # fmt: skip
    body = BODY
    if batch:
        each = struct.pack(">iii", 0, zlib.crc32(BODY) & 0x7FFFFFFF, 0) + struct.pack(">i", len(BODY)) + BODY
        each += struct.pack(">h", len(KEY)) + KEY.encode()
        body = (struct.pack(">i", len(each) + 4) + each) * batch
    code = 320 if batch else 310
    return encode_frame(Command(code, opaque=7, ext_fields=fields, body=body, serialize_type=serialize_type))


def pull_frame(offset: int, flag: int, serialize_type: int = SerializeType.ROCKETMQ) -> bytes:
    fields = {
        "consumerGroup": "C", "topic": "broker", "queueId": "0", "queueOffset": str(offset), "maxMsgNums": "32",
        "sysFlag": str(flag), "commitOffset": "0", "suspendTimeoutMillis": "600000", "subscription": "*",
        "subVersion": "1700000000000", "expressionType": "TAG",
    }  # fmt: skip
    return encode_frame(Command(11, opaque=8, ext_fields=fields, serialize_type=serialize_type))


class LongPolls:
    """A pull that finds nothing, and the send that wakes it."""

    def __init__(self, port: int) -> None:
        self._consumer, self._producer = Wire(port), Wire(port)
        self._frame = send_frame(KEY)
        self._offset = 0
        while (found := self._max_offset()) > self._offset:
            self._offset = found

    def _max_offset(self) -> int:
        fields = {"topic": "broker", "queueId": "0"}
        self._producer.send(encode_frame(Command(30, ext_fields=fields)))
        answer = self._producer.answer()
        found = re.search(rb'"offset":"(\d+)"', answer)
        return int(found[1]) if found else 0

    def poll(self) -> None:
        self._consumer.send(pull_frame(self._offset, 6))
        self._producer.ask(self._frame)
        self._consumer.answer()
        self._offset += 1


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def least(process: Counted, number: int, act: Callable[[], object]) -> float:
    return min(process.count(lambda: [act() for _ in range(number)]) for _ in range(COUNTS)) / number


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


def broker_counts(checkout: Path, folder: Path, number: int) -> Iterator[tuple[str, float]]:
    rows = (
        ("broker: single send, binary", send_frame(KEY), 1),
        ("broker: single send, binary, of 64 in one read", send_frame(KEY), MANY),
        ("broker: single send, JSON", send_frame(KEY, SerializeType.JSON), 1),
        ("broker: single send, JSON, of 64 in one read", send_frame(KEY, SerializeType.JSON), MANY),
        ("broker: batch of 32, Java's properties", send_frame(KEY, batch=32), 1),
        ("broker: batch of 32, our client's", send_frame(OURS, batch=32), 1),
        ("broker: pull of 32, binary", pull_frame(0, 4), 1),
        ("broker: pull of 32, JSON", pull_frame(0, 4, SerializeType.JSON), 1),
    )
    with broker(checkout, folder, ANSWERING) as (process, port):
        wire = Wire(port)
        for name, frame, at_once in rows:
            yield name, count_asking(process, wire, frame, number, at_once)
    with broker(checkout, folder, flush="SYNC_FLUSH") as (process, port):
        name = "broker: sync flush, single send, of 64 in one read"
        yield name, count_asking(process, Wire(port), send_frame(KEY), number, MANY)
    with broker(checkout, folder) as (process, port):
        Wire(port).ask(send_frame(KEY))
        polls = LongPolls(port)
        for _ in range(20):
            polls.poll()
        yield "broker: long poll, with the send that wakes it", least(process, number, polls.poll)


def count_asking(process: Counted, wire: Wire, frame: bytes, number: int, at_once: int) -> float:
    for _ in range(50):
        wire.ask(frame)
    reads = max(number // at_once, 10)
    return least(process, reads, lambda: wire.ask(frame, at_once)) / at_once


def client_counts(checkout: Path, folder: Path, nameserver: str, number: int) -> Iterator[tuple[str, float]]:
    process = Counted(checkout, folder, ["-c", CLIENT, nameserver])
    try:
        for name, what in ("single send", "send"), ("batch of 32", "batch"), ("32 submitted", "submit"):
            process.ask(f"{what} 20")
            counts = [process.count(lambda what=what: process.ask(f"{what} {number}")) for _ in range(COUNTS)]  # type: ignore[misc]
            yield f"client: {name}", min(counts) / number
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


def counts(checkout: Path, number: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        found = dict(broker_counts(checkout, Path(folder), number))
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as nameserver:
        return found | dict(client_counts(checkout, Path(folder), nameserver, number))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions")
    parser.add_argument("other", type=Path)
    parser.add_argument("--requests", type=int, default=200)
    chosen = parser.parse_args()
    theirs, ours = (counts(checkout.resolve(), chosen.requests) for checkout in (chosen.other, HERE))
    print(f"{'':52}{'other':>10}{'this':>10}{'ratio':>8}")
    for name, count in ours.items():
        print(f"{name:52}{theirs[name]:>10,.0f}{count:>10,.0f}{count / theirs[name]:>8.3f}")


if __name__ == "__main__":
    main()
