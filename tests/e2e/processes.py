"""`sprocket` as a process of its own, and a client that writes and reads raw frames."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


class Sprocket:
    """One run of the command; `ready` waits for as many services as it names."""

    def __init__(self, *arguments: object) -> None:
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sprocketmq", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.ports: dict[str, int] = {}
        self._wires: list[Wire] = []

    def wire(self, name: str) -> Wire:
        """A connection to one of its services, closed at the end."""
        self._wires.append(Wire(self.ports[name]))
        return self._wires[-1]

    def ready(self, *names: str) -> Sprocket:
        assert self.process.stdout is not None
        while not set(names) <= set(self.ports):
            line = self.process.stdout.readline()
            assert line, f"it ended: {self.process.stderr and self.process.stderr.read()}"
            name, found, address = line.strip().partition(" ready on ")
            if found and ":" in address:
                self.ports[name] = int(address.rpartition(":")[2])
        return self

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """The exit code and what it wrote to stderr."""
        for wire in self._wires:
            wire.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        _out, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@contextlib.contextmanager
def running(*arguments: object) -> Iterator[Sprocket]:
    sprocket = Sprocket(*arguments)
    try:
        yield sprocket
    finally:
        sprocket.end(signal.SIGKILL)


class Wire:
    """A connection that knows nothing of our own codecs."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._opaque = 0

    def call(self, code: int, ext: dict[str, object], body: bytes = b"") -> tuple[dict[str, object], bytes]:
        self._opaque += 1
        fields = {key: str(value) for key, value in ext.items()}
        header = {"code": code, "flag": 0, "language": "JAVA", "opaque": self._opaque, "version": 479}
        data = json.dumps({**header, "extFields": fields}).encode()
        self.socket.sendall(struct.pack(">ii", 4 + len(data) + len(body), len(data)) + data + body)
        return self.answer()

    def answer(self) -> tuple[dict[str, object], bytes]:
        length, head = struct.unpack(">ii", self._read(8))
        rest = self._read(length - 4)
        header: dict[str, object] = json.loads(rest[: head & 0xFFFFFF])
        assert header["opaque"] == self._opaque
        return header, rest[head & 0xFFFFFF :]

    def _read(self, size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            piece = self.socket.recv(size - len(parts))
            assert piece, "the broker closed the connection"
            parts += piece
        return parts

    def send(self, body: bytes, topic: str = "orders", queue_id: int = 0) -> dict[str, object]:
        ext = dict(zip("abcdefgh", ["PG", topic, "TBW102", 4, queue_id, 0, 1, 0], strict=True))
        return self.call(310, ext, body)[0]

    def pull(self, offset: int = 0, topic: str = "orders", queue_id: int = 0) -> list[bytes]:
        ext: dict[str, object] = {
            "consumerGroup": "G", "topic": topic, "queueId": queue_id, "queueOffset": offset, "maxMsgNums": 32,
            "sysFlag": 4, "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0, "subscription": "*",
        }  # fmt: skip
        return split_bodies(self.call(11, ext)[1])

    def close(self) -> None:
        self.socket.close()


def split_bodies(data: bytes) -> list[bytes]:
    """The bodies of records that lie one behind the other."""
    found = []
    while data:
        size = struct.unpack_from(">i", data)[0]
        length = struct.unpack_from(">i", data, 84)[0]
        found.append(data[88 : 88 + length])
        data = data[size:]
    return found
