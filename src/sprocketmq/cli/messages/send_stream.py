"""Sends a stream of messages in order, with automatic batching, and keeps their receipts in order.

A message that cannot be sent ends it: those before it are sent, those behind it are not, and the error names its line.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from sprocketmq.errors import SprocketError

if TYPE_CHECKING:
    from sprocketmq.client.message import Message, SendReceipt
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.client.producer.producer import Producer
    from sprocketmq.client.producer.receipts import ReceiptFuture


@dataclass(slots=True)
class Sent:
    """What has a receipt. Of endless input no more than `keep` receipts are kept."""

    keep: int | None = None
    count: int = 0
    receipts: list[SendReceipt] = field(default_factory=list)

    def add(self, receipt: SendReceipt) -> None:
        self.count += 1
        if self.keep is None or len(self.receipts) < self.keep:
            self.receipts.append(receipt)


E = TypeVar("E", bound=Exception)

_MOMENT_S = 1.0

#: Messages that are on their way, and their names.
Flights = deque[tuple["ReceiptFuture", str]]

#: A message, and what to call it in an error: `line 3`, or nothing.
Item = tuple["Message", str]


async def send_all(options: ClientOptions, group: str, items: AsyncIterator[Item], timeout: float, sent: Sent) -> None:
    from sprocketmq.client.producer.producer import Producer
    from sprocketmq.client.settings import Batching, ProducerSettings

    settings = ProducerSettings(send_timeout=timeout, batching=Batching(delivery_timeout=timeout))
    producer, flights = await Producer(group, options, settings=settings).start(), Flights()
    patience = None
    try:
        await _send_each(producer, items, flights, sent)
    except (
        asyncio.CancelledError
    ):  # ^C: what is on its way has a moment, and nobody waits for a cluster that is not there
        patience = _MOMENT_S
        raise
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await producer.stop()
        _land_all(flights, sent)


async def _send_each(producer: Producer, items: AsyncIterator[Item], flights: Flights, sent: Sent) -> None:
    try:
        async for message, name in items:
            await _submit(producer, message, name, flights)
            while flights and flights[0][0].done():
                _land(*flights.popleft(), sent)
    except Exception:
        await producer.flush()
        raise
    await producer.flush()
    if (failure := _land_all(flights, sent)) is not None:
        raise _named(*failure) from None


async def _submit(producer: Producer, message: Message, name: str, flights: Flights) -> None:
    from sprocketmq.client.errors import InvalidMessage

    if producer.is_full:
        await producer.room()
    most = producer.settings.max_message_bytes
    try:
        if len(message.body) > most:  # known before the next one leaves
            raise InvalidMessage(f"the body has {len(message.body)} bytes, more than {most}")
        flights.append((producer.submit(message), name))
    except InvalidMessage as error:
        raise _named(error, name) from None


def _land_all(flights: Flights, sent: Sent) -> tuple[SprocketError, str] | None:
    """The first failure and its message's name; every receipt is asked for, so that the client tells of none itself."""
    failure = None
    while flights:
        future, name = flights.popleft()
        try:
            if future.done():
                sent.add(future.result())
        except SprocketError as error:
            failure = failure or (error, name)
    return failure


def _land(future: ReceiptFuture, name: str, sent: Sent) -> None:
    try:
        sent.add(future.result())
    except SprocketError as error:
        raise _named(error, name) from None


def _named(error: E, name: str) -> E:
    """The messages of a batch share one error: only the first of them gives it a name."""
    if name:
        error.args = (f"{name}: {error}", *error.args[1:])
    return error
