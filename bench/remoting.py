"""What the transport costs: an echo server and a pipelining client in one process each, on loopback.

    python bench/remoting.py [frames]        prints the server's CPU seconds per million frames

The server runs the real `RemotingServer` with a handler that sends an encoded frame back; `floor` only splits frames.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import socket
import struct
import sys
from multiprocessing.connection import Connection as Pipe
from typing import cast

from sprocketmq.codes import FLAG_RESPONSE, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import ProcessorTable, RemotingServer
from sprocketmq.remoting.loop import run

CODE = 310
WINDOW = 64


def request(serialize_type: int, size: int = 250) -> bytes:
    fields = dict.fromkeys("abcdefghijklm", "value")
    bare = Command(CODE, opaque=7, ext_fields=fields, serialize_type=serialize_type)
    bare.body = bytes(max(0, size - len(encode_frame(bare))))
    return encode_frame(bare)


class Floor(asyncio.Protocol):
    """Splits frames and sends them back: what no server can go below."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._left = cast(asyncio.Transport, transport), b""

    def data_received(self, data: bytes) -> None:
        data = self._left + data
        at, out = 0, []
        while len(data) - at >= 4:
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if end > len(data):
                break
            out.append(data[at:end])
            at = end
        self._left = data[at:]
        self._transport.write(b"".join(out))


async def serve(kind: str, frame: bytes, pipe: Pipe) -> None:
    if kind == "floor":
        listening = await asyncio.get_running_loop().create_server(Floor, "127.0.0.1", 0)
        pipe.send(listening.sockets[0].getsockname()[1])
    else:
        table = ProcessorTable()
        if kind == "frame":
            table.add(CODE, lambda _connection, _request: frame)
        else:
            table.add(CODE, lambda _connection, command: command.reply(0, body=command.body))
        server = RemotingServer(table, "127.0.0.1")
        await server.start()
        pipe.send(server.port)
    before = resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.to_thread(pipe.recv)
    after = resource.getrusage(resource.RUSAGE_SELF)
    pipe.send(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def serve_process(kind: str, frame: bytes, pipe: Pipe) -> None:
    run(serve(kind, frame, pipe))


def drive(port: int, frame: bytes, frames: int) -> None:
    """Keeps WINDOW frames in flight over one plain socket; counts answers by their length fields."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sent, answered, left = min(WINDOW, frames), 0, b""
        sock.sendall(frame * sent)
        while answered < frames:
            left, whole = split(left + sock.recv(1 << 18))
            answered += whole
            more = min(whole, frames - sent)
            if more:
                sock.sendall(frame * more)
                sent += more


def split(data: bytes) -> tuple[bytes, int]:
    at = whole = 0
    while len(data) - at >= 4:
        end = at + 4 + struct.unpack_from(">I", data, at)[0]
        if end > len(data):
            break
        at, whole = end, whole + 1
    return data[at:], whole


def measure(kind: str, frame: bytes, frames: int) -> float:
    here, there = multiprocessing.Pipe()
    response = Command(0, opaque=7, flag=FLAG_RESPONSE, serialize_type=SerializeType.ROCKETMQ, body=bytes(200))
    process = multiprocessing.Process(target=serve_process, args=(kind, encode_frame(response), there))
    process.start()
    drive(here.recv(), frame, frames)
    here.send("stop")
    spent: float = here.recv()
    process.join()
    return spent * 1e6 / frames


def main() -> None:
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    binary, text = request(SerializeType.ROCKETMQ), request(SerializeType.JSON)
    result = {
        "floor": measure("floor", binary, frames),
        "binary, encoded answer": measure("frame", binary, frames),
        "binary, command answer": measure("command", binary, frames),
        "JSON, command answer": measure("command", text, frames),
    }
    for name, seconds in result.items():
        print(f"{name:24} {seconds:6.2f} CPU s per million frames")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
