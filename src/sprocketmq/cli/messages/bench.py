"""`sprocket bench`: how quick a cluster is from here, by the client that everyone uses."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import CountCommand, cluster_options, json_option, run_client
from sprocketmq.cli.output.tables import show

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions

PULL_BATCH = 1024


@click.command(cls=CountCommand)
@click.option("-c", "--count", default=200_000, show_default=True, type=click.IntRange(1), help="Messages.")
@click.option("--size", default=128, show_default=True, type=click.IntRange(1), help="Bytes in a body.")
@click.option(
    "--in-flight",
    default=64,
    show_default=True,
    type=click.IntRange(1),
    help="How many single sends wait for their answers at a time.",
)
@click.option("--topic", help="A topic to use; otherwise one is made, and removed at the end.")
@json_option
@cluster_options
def bench(options: ClientOptions, count: int, size: int, in_flight: int, topic: str | None, as_json: bool) -> None:
    """Send with automatic batching, read back, send one by one; messages per second of each.

    The messages stay in the cluster until it expires them.
    """

    async def measure() -> list[dict[str, Any]]:
        from sprocketmq.client.admin import AdminClient

        name = topic or f"bench-{uuid.uuid4().hex[:8]}"
        async with AdminClient(options) as admin:
            if topic is None:
                await admin.topics.create(name)
            try:
                return [row async for row in _rows(options, name, b"x" * size, count, in_flight)]
            finally:
                if topic is None:
                    await admin.topics.delete(name)

    show(run_client(measure()), as_json)


async def _rows(
    options: ClientOptions, topic: str, body: bytes, count: int, in_flight: int
) -> AsyncIterator[dict[str, Any]]:
    few = max(count // 10, 1)
    for name, messages, work in (
        ("send in batches", count, _batched(options, topic, body, count)),
        ("consume", count, _consumed(options, topic, count)),
        ("send one by one", few, _one_by_one(options, topic, body, few, in_flight)),
    ):
        begin = time.perf_counter()
        await work
        seconds = time.perf_counter() - begin
        yield {"what": name, "messages": messages, "seconds": round(seconds, 3), "per_second": int(messages / seconds)}


async def _batched(options: ClientOptions, topic: str, body: bytes, count: int) -> None:
    from sprocketmq.client import Message, Producer

    async with Producer("sprocket-bench", options) as producer:
        futures = await producer.enqueue_all(Message(topic, body) for _ in range(count))
        await producer.flush()
        for future in futures:
            future.result()


async def _consumed(options: ClientOptions, topic: str, count: int) -> None:
    from sprocketmq.client import PullConsumer, PullSettings

    settings = PullSettings(consume_from="first", pull_batch=PULL_BATCH)
    async with PullConsumer(f"sprocket-bench-{uuid.uuid4().hex[:8]}", options, settings=settings) as consumer:
        await consumer.subscribe(topic)
        seen = 0
        while seen < count:
            seen += len(await consumer.poll(PULL_BATCH))


async def _one_by_one(options: ClientOptions, topic: str, body: bytes, count: int, in_flight: int) -> None:
    from sprocketmq.client import Message, Producer

    async with Producer("sprocket-bench", options) as producer:
        left = iter(range(count))

        async def sender() -> None:
            for _ in left:
                await producer.send(Message(topic, body))

        await asyncio.gather(*(sender() for _ in range(in_flight)))
