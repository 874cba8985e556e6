"""A shop for the demo: orders with their states, payments and shipments, the same on every run."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator

import orjson

from sprocketmq.client import ConsumerSettings, Message, Producer, PushConsumer, ReceivedMessage

ORDERS, PAYMENTS, SHIPMENTS, TOTALS = "orders", "payments", "shipments", "order-totals"
TOPICS = (ORDERS, PAYMENTS, SHIPMENTS)
#: The amounts of the orders that were sent, to check totals with.
AMOUNTS: list[int] = []

_ARTICLES = ("apple", "bicycle", "camera", "desk", "espresso machine", "flute", "globe")
_STATES = {"created": ORDERS, "paid": ORDERS, "cancelled": ORDERS, "settled": PAYMENTS, "shipped": SHIPMENTS}


def orders_to_send(count: int) -> Iterator[Message]:
    """`count` messages of orders by customers of whom a few buy a lot."""
    chance = random.Random(7)
    for number in range(count):
        state = chance.choices(list(_STATES), weights=(5, 4, 1, 3, 3))[0]
        customer = int(chance.paretovariate(1.2)) % 500
        cents = chance.randrange(99, 50_000)
        body = {"order": number, "customer": customer, "article": chance.choice(_ARTICLES), "cents": cents}
        if _STATES[state] == ORDERS:
            AMOUNTS.append(cents)
        yield Message(
            _STATES[state], orjson.dumps(body), tag=state, keys=[f"order-{number}", f"customer-{customer}"],
            properties={"channel": chance.choice(("web", "app", "shop"))},
        )  # fmt: skip


async def produce(nameserver: str, messages: list[Message]) -> dict[str, int]:
    """Send everything; messages acknowledged by topic."""
    async with Producer("shop", nameserver) as producer:
        firsts = {message.topic: message for message in reversed(messages)}
        receipts = [await producer.send(first) for first in firsts.values()]  # a topic is made by its first message
        rest = [message for message in messages if message is not firsts[message.topic]]
        receipts += await asyncio.gather(*[await producer.enqueue(message) for message in rest])
    return dict(Counter(receipt.queue.topic for receipt in receipts if receipt.ok))


async def consume(nameserver: str, group: str, tags: str, expected: int) -> int:
    """Messages of orders that the group was given by the time it had the expected number."""
    seen: set[str] = set()
    done = asyncio.Event()
    consumer = PushConsumer(group, nameserver, settings=ConsumerSettings(consume_from="first"))

    @consumer.subscribe(ORDERS, tags)
    async def handle(message: ReceivedMessage) -> None:
        seen.add(message.message_id)
        if len(seen) >= expected:
            done.set()

    async with consumer:
        await asyncio.wait_for(done.wait(), 60)
    return len(seen)
