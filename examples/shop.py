"""A shop for the demo: one day of orders, payments, shipments and reminders, the same on every run.

An hour of the shop takes `HOUR` seconds here. Bodies carry the shop's time; brokers and the report know only ours.

orders      created, paid or cancelled; one in a hundred is sent in a transaction, and the last of those is rolled back
payments    settled
shipments   shipped
reminders   delivered three hours of the shop after they were sent

`billing` cannot read one order at first and gets it again (a retry); another it can never read (a dead letter).
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson

from sprocketmq.client import AdminClient, ConsumerSettings, Message, Producer, PushConsumer, ReceivedMessage, Retry

ORDERS, PAYMENTS, SHIPMENTS, REMINDERS, TOTALS = "orders", "payments", "shipments", "reminders", "order-totals"
TOPICS = (ORDERS, PAYMENTS, SHIPMENTS, REMINDERS)
GROUPS = ("billing", "warehouse", "reminding")
HOURS, HOUR = 24, 0.4
DAY = datetime(2026, 3, 2, tzinfo=UTC)

_ARTICLES = ("apple", "bicycle", "camera", "desk", "espresso machine", "flute", "globe")
_STATES = {"created": ORDERS, "paid": ORDERS, "cancelled": ORDERS, "settled": PAYMENTS, "shipped": SHIPMENTS}
_TRANSACTION_EVERY, _REMINDER_EVERY = 100, 200
_DEAD, _ONCE_MORE = "order-4242", "order-1001"  # both are paid
_TO_DEAD_LETTERS, _AFTER_A_SECOND = -1, 1


@dataclass
class Takings:
    """What the shop sent and what its groups were given, to compare with what others count."""

    sent: Counter[str] = field(default_factory=Counter)
    paid: int = 0
    cents: int = 0
    received: dict[str, int] = field(default_factory=dict)


def day_of_orders(count: int) -> Iterator[tuple[int, Message]]:
    """(hour, message): customers of whom a few buy a lot, at noon and in the evening more than at night."""
    chance = random.Random(7)
    weights = [
        0.15 + math.exp(-((hour - 11) ** 2) / 8) + 1.4 * math.exp(-((hour - 19) ** 2) / 5) for hour in range(HOURS)
    ]
    hours = sorted(chance.choices(range(HOURS), weights, k=count))
    for number, hour in enumerate(hours):
        yield hour, order(number, DAY + timedelta(hours=hour, seconds=chance.randrange(3600)), chance)


def order(number: int, at: datetime, chance: random.Random) -> Message:
    state = chance.choices(list(_STATES), weights=(5, 4, 1, 3, 3))[0]
    if f"order-{number}" in (_DEAD, _ONCE_MORE):
        state = "paid"
    customer = int(chance.paretovariate(1.2)) % 500
    body = {
        "order": number, "at": at.isoformat(), "customer": customer, "cents": chance.randrange(99, 50_000),
        "articles": chance.choices(_ARTICLES, k=min(40, int(chance.paretovariate(1)))),
    }  # fmt: skip
    return Message(
        _STATES[state], orjson.dumps(body), tag=state, keys=[f"order-{number}", f"customer-{customer}"],
        properties={"channel": chance.choice(("web", "app", "shop"))},
    )  # fmt: skip


async def trade(nameserver: str, count: int) -> Takings:
    """The whole day; ends when every group has what it is to get."""
    takings = Takings()
    async with AdminClient(nameserver) as admin:
        for topic in TOPICS:
            await admin.topics.create(topic, queues=4)
    async with Producer("shop", nameserver, trace=True) as producer:
        selling = asyncio.create_task(sell(producer, count, takings))
        sold = asyncio.Event()
        subscriptions = ((ORDERS, "*"), (ORDERS, "paid"), (REMINDERS, "*"))
        groups = [Group(nameserver, name, *what) for name, what in zip(GROUPS, subscriptions, strict=True)]
        consuming = [asyncio.create_task(group.consume(sold)) for group in groups]
        await selling
        for group, expected in zip(groups, (takings.sent[ORDERS], takings.paid, takings.sent[REMINDERS]), strict=True):
            group.expected = expected
        sold.set()
        takings.received = dict(zip(GROUPS, await asyncio.gather(*consuming), strict=True))
    return takings


async def sell(producer: Producer, count: int, takings: Takings) -> None:
    clock = asyncio.get_running_loop()
    began = clock.time()
    hours: dict[int, list[Message]] = {hour: [] for hour in range(HOURS)}
    for hour, message in day_of_orders(count):
        hours[hour].append(message)
    for hour, messages in hours.items():
        for part, some in enumerate(_parts(messages, 4)):
            await asyncio.sleep(began + (hour + part / 4) * HOUR - clock.time())
            await send_all(producer, some, takings)
    async with producer.transaction(Message(ORDERS, b'{"order": -1}', tag="created")) as regretted:
        await regretted.rollback()


async def send_all(producer: Producer, messages: list[Message], takings: Takings) -> None:
    plain = [message for number, message in enumerate(messages) if number % _TRANSACTION_EVERY]
    for message in messages[::_TRANSACTION_EVERY]:
        async with producer.transaction(message):
            pass  # where a real shop writes to its own database
    reminders = [
        Message(REMINDERS, message.body, tag="pay", keys=message.keys, delay=timedelta(seconds=3 * HOUR))
        for message in messages[::_REMINDER_EVERY]
    ]
    await asyncio.gather(*[await producer.enqueue(message) for message in plain])
    for reminder in reminders:
        await producer.send(reminder)
    count_in(takings, messages + reminders)


def count_in(takings: Takings, messages: list[Message]) -> None:
    orders = [message for message in messages if message.topic == ORDERS]
    takings.sent.update(message.topic for message in messages)
    takings.paid += sum(message.tag == "paid" for message in orders)
    takings.cents += sum(orjson.loads(message.body)["cents"] for message in orders)


class Group:
    """One group with one member, that counts the orders it was given."""

    def __init__(self, nameserver: str, name: str, topic: str, tags: str) -> None:
        self.expected = 0
        self._seen: set[str] = set()
        self._came = asyncio.Event()
        self._failed: set[str] = set()
        settings = ConsumerSettings(consume_from="first", persist_interval=0.5)
        self._consumer = PushConsumer(name, nameserver, settings=settings, trace=True)
        self._consumer.add_handler(topic, self._handle, tags)

    async def consume(self, sold: asyncio.Event) -> int:
        async with self._consumer:
            async with asyncio.timeout(120):
                await sold.wait()
                while len(self._seen) < self.expected or self._failed:
                    self._came.clear()
                    await self._came.wait()
        return len(self._seen)

    async def _handle(self, message: ReceivedMessage) -> None:
        key = message.keys[0]
        self._seen.add(key)
        self._came.set()
        if self._consumer.group != "billing":
            return
        if key == _DEAD:
            raise Retry(_TO_DEAD_LETTERS, "an order that nobody can read")
        if key == _ONCE_MORE and key not in self._failed:
            self._failed.add(key)
            raise Retry(_AFTER_A_SECOND, "the database is away")
        self._failed.discard(key)


def _parts(messages: list[Message], count: int) -> list[list[Message]]:
    size = -(-len(messages) // count) or 1
    return [messages[at : at + size] for at in range(0, len(messages), size)]
