"""The client in one page: send, consume, pull and look around. Run it with a nameserver's address, or against a cluster
of its own.

    python -m examples.client [HOST:PORT]
"""

from __future__ import annotations

import asyncio
import sys

from sprocketmq import ConsumerSettings, Message, Producer, PullConsumer, PullSettings, PushConsumer, ReceivedMessage

TOPIC = "examples-orders"


async def produce(nameserver: str) -> None:
    async with Producer("examples", nameserver) as producer:
        receipt = await producer.send(Message(TOPIC, b"one apple", tag="new", keys=["42"]))
        print(f"sent {receipt.message_id} to {receipt.queue} at {receipt.queue_offset}")
        futures = [producer.submit(Message(TOPIC, b"pear %d" % i)) for i in range(99)]  # batched by themselves
        await asyncio.gather(*futures)


async def consume(nameserver: str, count: int) -> int:
    """Members of a group share the messages; a handler that raises gets its message again later."""
    done, seen = asyncio.Event(), 0
    consumer = PushConsumer("examples-push", nameserver, settings=ConsumerSettings(consume_from="first"))

    @consumer.subscribe(TOPIC)
    async def handle(message: ReceivedMessage) -> None:
        nonlocal seen
        seen += 1
        if seen >= count:
            done.set()

    async with consumer:
        await asyncio.wait_for(done.wait(), 30)
    return seen


async def pull(nameserver: str, count: int) -> int:
    """The same messages, when we ask for them."""
    seen = 0
    async with PullConsumer("examples-pull", nameserver, settings=PullSettings(consume_from="first")) as consumer:
        await consumer.subscribe(TOPIC)
        async for batch in consumer.batches():
            seen += len(batch)
            if seen >= count:
                break
    return seen


async def main(nameserver: str) -> None:
    await produce(nameserver)
    print(f"pushed {await consume(nameserver, 100)} messages, pulled {await pull(nameserver, 100)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1]))
    else:
        from sprocketmq.testing import EmbeddedCluster

        with EmbeddedCluster() as cluster:
            asyncio.run(main(cluster.nameserver))
