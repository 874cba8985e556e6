"""The Python client beside confluent-kafka: each against its own broker, in turns, on this machine.

    python -m bench.client [messages]       needs Java for Kafka 3.9

produce     128-byte messages with automatic batching, every receipt awaited
consume     the same messages by batches, every body read
single      one request per message, 64 of them under way

Only the ratios mean something: whatever else the machine does slows both.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import Producer as KafkaProducer
from tests.peers.kafka import Kafka
from tests.peers.sprocket import sprocket_cluster

from sprocketmq import Message, Producer, ProducerSettings, PullConsumer, PullSettings
from sprocketmq.client.settings import Batching
from sprocketmq.remoting.loop import run

#: Files of the usual size, and pulls as large as Kafka's fetches; RocketMQ's default of 32 messages is for latency.
CONF = {
    "mappedFileSizeCommitLog": str(1024**3),
    "mappedFileSizeConsumeQueue": "6000000",
    "maxTransferCountOnMessageInMemory": "4096",
    "maxTransferBytesOnMessageInMemory": str(1024**2),
}
BODY = b"x" * 128
WINDOW = 64
ROUNDS = 3


async def produce(nameserver: str, topic: str, count: int) -> None:
    settings = ProducerSettings(batching=Batching(max_bytes=512 * 1024, max_messages=4096, buffer_messages=20_000))
    async with Producer("bench", nameserver, settings=settings) as producer:
        futures = await producer.enqueue_all(Message(topic, BODY) for _ in range(count))
        await producer.flush()
        assert all(future.result().ok for future in futures)


async def consume(nameserver: str, topic: str, count: int) -> None:
    settings = PullSettings(consume_from="first", pull_batch=4096)
    async with PullConsumer(f"bench-{uuid.uuid4().hex}", nameserver, settings=settings) as consumer:
        await consumer.subscribe(topic)
        seen = size = 0
        while seen < count:
            batch = await consumer.poll(4096)
            for message in batch:
                size += len(message.body)
            seen += len(batch)
        assert size == seen * len(BODY)


async def single(nameserver: str, topic: str, count: int) -> None:
    async with Producer("bench", nameserver) as producer:
        left = iter(range(count))

        async def sender() -> None:
            for _ in left:
                await producer.send(Message(topic, BODY))

        await asyncio.gather(*(sender() for _ in range(WINDOW)))


def kafka_produce(address: str, topic: str, count: int) -> None:
    failed: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failed.append(error)

    producer = KafkaProducer({"bootstrap.servers": address, "linger.ms": 5, "acks": "all"})
    for at in range(count):
        while True:
            try:
                producer.produce(topic, BODY, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.01)
        if at % 1000 == 0:
            producer.poll(0)
    producer.flush()
    assert not failed, failed[0]


def kafka_consume(address: str, topic: str, count: int) -> None:
    options = {"bootstrap.servers": address, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    consumer = KafkaConsumer(options)
    consumer.subscribe([topic])
    seen = size = 0
    while seen < count:
        for message in consumer.consume(4096, 1.0):
            if message.error() is None:
                size += len(message.value() or b"")
                seen += 1
    consumer.close()


def kafka_single(address: str, topic: str, count: int) -> None:
    """No batching: each message is a request of its own, and 64 may be under way."""
    producer = KafkaProducer({
        "bootstrap.servers": address, "linger.ms": 0, "batch.num.messages": 1, "acks": "all",
        "max.in.flight": WINDOW,
    })  # fmt: skip
    under_way = 0

    def delivered(_error: object, _message: object) -> None:
        nonlocal under_way
        under_way -= 1

    for _ in range(count):
        while under_way >= WINDOW:
            producer.poll(0.01)
        under_way += 1
        producer.produce(topic, BODY, on_delivery=delivered)
    producer.flush()


def rate(work: Callable[[], object], count: int) -> float:
    begin = time.perf_counter()
    work()
    return count / (time.perf_counter() - begin)


def one_round(nameserver: str, kafka: str, count: int) -> dict[str, dict[str, float]]:
    topic, few = f"bench-{uuid.uuid4().hex[:8]}", max(count // 10, 1000)
    return {
        "produce": {
            "sprocketmq": rate(lambda: run(produce(nameserver, topic, count)), count),
            "confluent-kafka": rate(lambda: kafka_produce(kafka, topic, count), count),
        },
        "consume": {
            "sprocketmq": rate(lambda: run(consume(nameserver, topic, count)), count),
            "confluent-kafka": rate(lambda: kafka_consume(kafka, topic, count), count),
        },
        "single": {
            "sprocketmq": rate(lambda: run(single(nameserver, f"{topic}-s", few)), few),
            "confluent-kafka": rate(lambda: kafka_single(kafka, f"{topic}-s", few), few),
        },
    }


def measure(nameserver: str, kafka: str, count: int) -> dict[str, dict[str, float]]:
    """The median of each figure."""
    rounds = [one_round(nameserver, kafka, count) for _ in range(ROUNDS)]
    return {
        name: {who: statistics.median(one[name][who] for one in rounds) for who in row}
        for name, row in rounds[0].items()
    }


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        cluster = sprocket_cluster(Path(place) / "sprocket", CONF)
        kafka = Kafka(Path(place) / "kafka")
        try:
            cluster.start()
            kafka.start()
            figures = measure(cluster.address, kafka.address, count)
        finally:
            cluster.kill()
            kafka.kill()
    for name, row in figures.items():
        ratio = row["sprocketmq"] / row["confluent-kafka"]
        print(f"{name:8} {row['sprocketmq']:10,.0f} msg/s   {row['confluent-kafka']:10,.0f} msg/s   {ratio:5.2f}x")
    print(json.dumps(figures))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300_000)
