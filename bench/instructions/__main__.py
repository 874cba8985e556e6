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
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.instructions.callgrind import COUNTS, Counted, least
from bench.instructions.frames import KEY, OURS, LongPolls, Wire, pull_frame, send_frame
from bench.instructions.processes import ANSWERING, CLIENT, broker, cluster

from sprocketmq.codes import SerializeType

HERE = Path(__file__).parents[2]
#: Requests that come together.
MANY = 64


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
        rows = ("single send", "send"), ("send by key", "keyed"), ("batch of 32", "batch"), ("32 submitted", "submit")
        for name, what in rows:
            process.ask(f"{what} 20")
            counts = [process.count(lambda what=what: process.ask(f"{what} {number}")) for _ in range(COUNTS)]  # type: ignore[misc]
            yield f"client: {name}", min(counts) / number
    finally:
        process.end()


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
