"""Reading a topic without a group: nothing is committed, and nobody else sees less.

What is there when the reading begins comes in the order in which it was stored, over all queues; what comes later, as
it comes.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sprocketmq.cli.messages.read_limits import LOOK_S, ConsumeLimits, SendPace
from sprocketmq.cli.messages.start_position import LastMessages, Start
from sprocketmq.cli.name_check import known_topic
from sprocketmq.cli.output.message_writer import MessageWriter
from sprocketmq.errors import SprocketError

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.client.received import ReceivedMessage
    from sprocketmq.client.subscription import Subscription
    from sprocketmq.protocol.message_queue import MessageQueue

_LONG_POLL_S = 15.0
_RETRY_S = 1.0
_AHEAD = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    topic: str
    tag: str = "*"
    sql: str | None = None
    start: Start = "last"
    queues: frozenset[int] = frozenset()  # none means all
    exit_at_end: bool = False


@dataclass(frozen=True, slots=True)
class _Stretch:
    queue: MessageQueue
    begin: int
    end: int


async def read_topic(options: ClientOptions, reading: Reading, limits: ConsumeLimits, writer: MessageWriter) -> int:
    """The number of messages written."""
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.subscription import Subscription
    from sprocketmq.protocol.names import with_namespace

    async with AdminClient(options) as admin:
        await known_topic(admin, reading.topic, wait=limits.start_patience)
        full = with_namespace(options.namespace, reading.topic)
        subscription = Subscription.of(full, reading.tag, reading.sql)
        stretches = await _stretches(admin, reading)
        pace = limits.begin()
        await _write(_past(admin, stretches, subscription, reading.start), pace, writer)
        if not reading.exit_at_end and not pace.is_over() and not writer.is_closed:
            await _follow(admin, stretches, subscription, pace, writer)
    return pace.seen


async def _stretches(admin: AdminClient, reading: Reading) -> list[_Stretch]:
    """What there is now of each queue."""
    begins: dict[MessageQueue, int] = {}
    if not isinstance(reading.start, LastMessages):
        begins = await admin.offsets.preview(reading.topic, reading.start)
    stats = await admin.topics.stats(reading.topic)
    there = {queue.queue_id for queue in stats}
    if absent := sorted(reading.queues - there):
        raise SprocketError(f"{reading.topic} has no queue {absent[0]}: it has {_listed(there)}")
    found = []
    for queue, offset in stats.items():
        if reading.queues and queue.queue_id not in reading.queues:
            continue
        first, end = offset.min_offset, offset.max_offset
        begin = end - reading.start.count if isinstance(reading.start, LastMessages) else begins.get(queue, end)
        found.append(_Stretch(queue, min(max(begin, first), end), end))
    return found


def _listed(queues: set[int]) -> str:
    is_row = queues == set(range(len(queues)))
    return f"0 to {len(queues) - 1}" if is_row and len(queues) > 1 else ", ".join(map(str, sorted(queues))) or "none"


async def messages_there(admin: AdminClient, namespace: str, reading: Reading) -> AsyncIterator[ReceivedMessage]:
    """Every message of the topic that is there now, from `reading.start` on."""
    from sprocketmq.client.subscription import Subscription
    from sprocketmq.protocol.names import with_namespace

    subscription = Subscription.of(with_namespace(namespace, reading.topic), reading.tag, reading.sql)
    async for message in _past(admin, await _stretches(admin, reading), subscription, reading.start):
        yield message


async def _past(
    admin: AdminClient, stretches: list[_Stretch], subscription: Subscription, start: Start
) -> AsyncIterator[ReceivedMessage]:
    merged = _merged([_stretch(admin, stretch, subscription) for stretch in stretches])
    if not isinstance(start, LastMessages):
        async for message in merged:
            yield message
        return
    last: deque[ReceivedMessage] = deque(maxlen=start.count)
    async for message in merged:
        last.append(message)
    for message in last:
        yield message


async def _stretch(admin: AdminClient, stretch: _Stretch, subscription: Subscription) -> AsyncIterator[ReceivedMessage]:
    at = stretch.begin
    while at < stretch.end:
        messages, after = await admin.messages.read(stretch.queue, at, subscription)
        for message in messages:
            if message.queue_offset < stretch.end:
                yield message
        if after <= at:
            return
        at = after


async def _merged(sources: list[AsyncIterator[ReceivedMessage]]) -> AsyncIterator[ReceivedMessage]:
    """In the order of their store times; one queue's messages stay in their own order."""
    heap: list[tuple[int, int, ReceivedMessage]] = []

    async def advance(number: int) -> None:
        message = await anext(sources[number], None)
        if message is not None:
            heapq.heappush(heap, (message.record.store_timestamp, number, message))

    for number in range(len(sources)):
        await advance(number)
    while heap:
        _, number, message = heapq.heappop(heap)
        yield message
        await advance(number)


async def _write(messages: AsyncIterator[ReceivedMessage], pace: SendPace, writer: MessageWriter) -> None:
    if pace.is_over():
        return
    async for message in messages:
        writer.write(message)
        pace.count()
        if pace.is_over():
            return


async def _follow(
    admin: AdminClient, stretches: list[_Stretch], subscription: Subscription, pace: SendPace, writer: MessageWriter
) -> None:
    arrived: asyncio.Queue[ReceivedMessage] = asyncio.Queue(_AHEAD)
    tails = [asyncio.ensure_future(_tail(admin, stretch, subscription, arrived)) for stretch in stretches]
    try:
        while not pace.is_over() and not writer.is_closed:
            try:
                async with asyncio.timeout(min(pace.patience, LOOK_S)):
                    message = await arrived.get()
            except TimeoutError:
                _raise_failure(tails)
                continue
            writer.write(message)
            pace.count()
    finally:
        for tail in tails:
            tail.cancel()
        await asyncio.gather(*tails, return_exceptions=True)


async def _tail(
    admin: AdminClient, stretch: _Stretch, subscription: Subscription, arrived: asyncio.Queue[ReceivedMessage]
) -> None:
    from sprocketmq.client.errors import ClientError

    at = stretch.end
    while True:
        try:
            messages, at = await admin.messages.read(stretch.queue, at, subscription, wait=_LONG_POLL_S)
        except ClientError as error:
            if not error.retriable:
                raise
            await asyncio.sleep(_RETRY_S)
            continue
        for message in messages:
            await arrived.put(message)


def _raise_failure(tails: list[asyncio.Task[None]]) -> None:
    for tail in tails:
        if tail.done():
            tail.result()
