"""The requests that are counted, and plain sockets to send them by."""

from __future__ import annotations

import re
import socket
import struct
import zlib

from sprocketmq.codes import SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame

KEY = "UNIQ_KEY\x01AC1400010001070DEA4E0000001F0001\x02WAIT\x01true\x02TAGS\x01a"
OURS = "WAIT\x01true"
BODY = b"x" * 128


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
