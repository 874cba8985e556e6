"""What TLS costs: the broker's single sends, plain and over TLS, and our layer beside those of the event loops.

    python -m bench.tls [--messages N] [--apache] [--json]

The same requests go to the same kind of broker twice, from a client of plain sockets that keeps a window of them in
flight; messages a second, CPU seconds of the broker per million, and the ratio of both. Sends over TLS shall reach at
least half of the plain speed. `--apache` measures Apache RocketMQ 5.3.3 the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import socket
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import uvloop
from bench.broker import CONF
from bench.remoting import CODE, request, split
from tests.peers.apache import ApacheBroker, ApacheNameServer
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker, SprocketNameServer

from sprocketmq.certificates import PemFiles, make_authority, make_server
from sprocketmq.codes import FLAG_RESPONSE, RequestCode, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.send import SendMessageRequestHeaderV2
from sprocketmq.remoting import Connection, ProcessorTable, RemotingServer
from sprocketmq.remoting.tls import KeyFiles, ServerTls, TlsMode, server_context
from sprocketmq.remoting.tls.service import Watched

WINDOW = 64
CONNECTIONS = 2
AT_LEAST = 0.5
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Figure:
    messages_per_second: float
    cpu_seconds_per_million: float


def send_frame(size: int = 128) -> bytes:
    header = SendMessageRequestHeaderV2(
        producer_group="LOADGRP", topic="LoadTopic", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
        sys_flag=0, born_timestamp=int(time.time() * 1000), flag=0, properties="WAIT\x01true\x02TAGS\x01TagA",
    )  # fmt: skip
    return encode_frame(
        Command(
            RequestCode.SEND_MESSAGE_V2, opaque=7, ext_fields=to_ext_fields(header), body=b"x" * size,
            serialize_type=SerializeType.ROCKETMQ,
        )
    )  # fmt: skip


def connect(port: int, context: ssl.SSLContext | None) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return plain if context is None else context.wrap_socket(plain, server_hostname="127.0.0.1")


def drive(port: int, context: ssl.SSLContext | None, frame: bytes, count: int) -> float:
    """Seconds for `count` requests, WINDOW in flight on each of CONNECTIONS: while one is read, the other is busy."""
    sockets = [connect(port, context) for _ in range(CONNECTIONS)]
    window, rests = frame * WINDOW, dict.fromkeys(sockets, b"")
    begin = time.perf_counter()
    for each in sockets:
        each.sendall(window)
    for number in range(count // WINDOW):
        each = sockets[number % CONNECTIONS]
        answered = 0
        while answered < WINDOW:
            rests[each], whole = split(rests[each] + each.recv(1 << 18))
            answered += whole
        each.sendall(window)
    spent = time.perf_counter() - begin
    for each in sockets:
        each.close()
    return spent


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, by its own clock: /proc counts in hundredths, of which a round has but a few."""
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid(3) makes it


def measure(port: int, pid: int, context: ssl.SSLContext | None, frame: bytes, count: int) -> Figure:
    before = cpu_of(pid)
    seconds = drive(port, context, frame, count)
    return Figure(count / seconds, (cpu_of(pid) - before) * 1e6 / count)


def in_turn(port: int, pid: int, contexts: Mapping[str, ssl.SSLContext | None], count: int) -> dict[str, Figure]:
    """The median of ROUNDS for each way, taken in turn: a slow spell of the machine hits all of them."""
    found: dict[str, list[Figure]] = {name: [] for name in contexts}
    frame = send_frame()
    for context in contexts.values():
        drive(port, context, frame, max(count // 10, 2000))
    for _ in range(ROUNDS):
        for name, context in contexts.items():
            found[name].append(measure(port, pid, context, frame, count))
    return {name: median(figures) for name, figures in found.items()}


def median(figures: list[Figure]) -> Figure:
    return Figure(
        statistics.median(each.messages_per_second for each in figures),
        statistics.median(each.cpu_seconds_per_million for each in figures),
    )


# -- brokers ----------------------------------------------------------------------------------------------------------


def broker_figures(make: Callable[[Path], tuple[NameServer, Broker]], ca: Path, count: int) -> dict[str, Figure]:
    with tempfile.TemporaryDirectory() as folder:
        nameserver, broker = make(Path(folder))
        nameserver.start()
        try:
            broker.start()
            try:
                contexts = {"plain": None, "TLS": ssl.create_default_context(cafile=str(ca))}
                return in_turn(broker.port, broker.pid, contexts, count)
            finally:
                broker.kill()
        finally:
            nameserver.kill()


def ours(own: PemFiles) -> Callable[[Path], tuple[NameServer, Broker]]:
    def make(folder: Path) -> tuple[NameServer, Broker]:
        nameserver = SprocketNameServer(folder / "nameserver")
        return nameserver, SprocketBroker(folder / "broker", nameserver.address, {**CONF, **_keys(own)})

    return make


def apache(own: PemFiles) -> Callable[[Path], tuple[NameServer, Broker]]:
    def make(folder: Path) -> tuple[NameServer, Broker]:
        nameserver = ApacheNameServer(folder / "nameserver")
        properties = {"tls.server.mode": "permissive", "tls.test.mode.enable": "false", **_keys(own)}
        broker = ApacheBroker(
            folder / "broker", nameserver.address, CONF, heap="2g", quick=False, properties=properties
        )
        return nameserver, broker

    return make


def _keys(own: PemFiles) -> dict[str, str]:
    return {"tls.server.certPath": str(own.cert), "tls.server.keyPath": str(own.key)}


# -- layers -----------------------------------------------------------------------------------------------------------


async def serve(layer: str, own: KeyFiles, pipe: Pipe) -> None:
    response = Command(0, opaque=7, flag=FLAG_RESPONSE, serialize_type=SerializeType.ROCKETMQ, body=bytes(60))
    answer, table = encode_frame(response), ProcessorTable()
    table.add(CODE, lambda _connection, _request: answer)
    context = server_context(own)
    tls = ServerTls(TlsMode.permissive, Watched("bench", lambda: context))
    server = RemotingServer(table, "127.0.0.1", tls=tls)
    if layer == "the loop's":
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Connection(table, server.connections), "127.0.0.1", 0, ssl=context)
        port = listening.sockets[0].getsockname()[1]
    else:
        await server.start()
        port = server.port
    pipe.send(port)
    await asyncio.to_thread(pipe.recv)
    before = resource.getrusage(resource.RUSAGE_SELF)
    pipe.send("go")
    await asyncio.to_thread(pipe.recv)
    after = resource.getrusage(resource.RUSAGE_SELF)
    pipe.send(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def serve_process(loop: str, layer: str, own: KeyFiles, pipe: Pipe) -> None:
    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(layer, own, pipe))


def layer_cost(loop: str, layer: str, own: KeyFiles, ca: Path, count: int) -> float:
    """CPU seconds of the server per million frames."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve_process, args=(loop, layer, own, there))
    process.start()
    port, frame = here.recv(), request(SerializeType.ROCKETMQ)
    context = None if layer == "plain" else ssl.create_default_context(cafile=str(ca))
    drive(port, context, frame, count // 10)
    here.send("begin")
    here.recv()
    drive(port, context, frame, count)
    here.send("stop")
    spent: float = here.recv()
    process.join()
    return spent * 1e6 / count


def layers(own: KeyFiles, ca: Path, count: int) -> dict[str, float]:
    kinds = [(loop, layer) for loop in ("uvloop", "asyncio") for layer in ("plain", "ours", "the loop's")]
    spent: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for loop, layer in kinds:
            spent.setdefault(f"{loop}, {layer}", []).append(layer_cost(loop, layer, own, ca, count))
    return {name: statistics.median(values) for name, values in spent.items()}


def report(name: str, figures: Mapping[str, Figure]) -> None:
    plain, tls = figures["plain"], figures["TLS"]
    ratio = tls.messages_per_second / plain.messages_per_second
    cpu = plain.cpu_seconds_per_million / tls.cpu_seconds_per_million
    print(
        f"{name:10} plain {plain.messages_per_second:>9,.0f} msg/s {plain.cpu_seconds_per_million:6.2f} CPU s/million"
        f"   TLS {tls.messages_per_second:>9,.0f} {tls.cpu_seconds_per_million:6.2f}"
        f"   {ratio:4.2f} of the speed (at least {AT_LEAST}), {cpu:4.2f} by CPU"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--apache", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        authority = make_authority("bench", days=1)
        ca = authority.write(Path(folder), "ca").cert
        own = make_server(authority, ["127.0.0.1"], days=1).write(Path(folder), "server")
        costs = layers(KeyFiles(str(own.cert), str(own.key)), ca, options.messages)
        figures = {"sprocket": broker_figures(ours(own), ca, options.messages)}
        if options.apache:
            figures["Apache"] = broker_figures(apache(own), ca, options.messages // 4)
    if options.json:
        print(json.dumps({"layers": costs, **figures}, default=asdict))
        return
    for name, seconds in costs.items():
        print(f"{name:24} {seconds:6.2f} CPU s per million frames")
    for name, found in figures.items():
        report(name, found)


if __name__ == "__main__":
    main()
