"""Many messages through one client, to see that it keeps none of them: sent and consumed at the same time.

    python -m bench.soak [messages]       10,000,000 unless told otherwise

Prints the client's own resident memory after each tenth of them, and exits with 1 when it grew: the last tenth may take
no more than a tenth and 4 MiB above the most of the first half.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from bench.many_topics import resident_kb
from tests.peers.sprocket import sprocket_cluster

from sprocketmq import Message, Producer, PullConsumer, PullSettings
from sprocketmq.remoting.loop import run

CONF = {"maxTransferCountOnMessageInMemory": "4096", "maxTransferBytesOnMessageInMemory": str(1024**2)}
TOPIC = "soak"
BODY = b"x" * 128
CHUNK = 10_000
AHEAD = 100_000  # messages that the producer may be in front of the consumer
SLACK_KB = 4096


class Soak:
    """One producer and one consumer of a client that count what went through them."""

    def __init__(self, nameserver: str, count: int) -> None:
        self.nameserver, self.count = nameserver, count
        self.seen = 0
        self.memory: list[int] = []
        self._moved = asyncio.Event()
        self._begin = time.perf_counter()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._produce())
            tasks.create_task(self._consume())

    async def _produce(self) -> None:
        async with Producer("soak", self.nameserver) as producer:
            for sent in range(0, self.count, CHUNK):
                while sent - self.seen > AHEAD:
                    self._moved.clear()
                    await self._moved.wait()
                many = min(CHUNK, self.count - sent)
                futures = await producer.enqueue_all(Message(TOPIC, BODY) for _ in range(many))
                assert all([(await future).ok for future in futures])

    async def _consume(self) -> None:
        settings = PullSettings(consume_from="first", pull_batch=4096)
        async with PullConsumer("soak", self.nameserver, settings=settings) as consumer:
            await consumer.subscribe(TOPIC)
            while self.seen < self.count:
                batch = await consumer.poll(4096)
                assert all(message.body == BODY for message in batch)
                self.seen += len(batch)
                self._moved.set()
                self._note()

    def _note(self) -> None:
        while len(self.memory) < self.seen * 10 // self.count:
            self.memory.append(resident_kb())
            rate = self.seen / (time.perf_counter() - self._begin)
            print(f"{self.seen:12,} messages  {self.memory[-1]:8,} kB  {rate:8,.0f} msg/s", flush=True)


def has_grown(memory: list[int]) -> bool:
    most = max(memory[: len(memory) // 2])
    return memory[-1] > most * 1.1 + SLACK_KB


def main(count: int) -> int:
    with tempfile.TemporaryDirectory() as place:
        cluster = sprocket_cluster(Path(place), CONF)
        try:
            cluster.start()
            soak = run(_soak(cluster.address, count))
        finally:
            cluster.kill()
    return int(has_grown(soak.memory))


async def _soak(nameserver: str, count: int) -> Soak:
    soak = Soak(nameserver, count)
    await soak.run()
    return soak


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
