"""Messages of a topic, newest or oldest first, over all queues or one, some at a time.

Nobody's place moves: messages are read as tools read them. Tags are chosen by the brokers; SQL92 is applied here, so
that it works where brokers have it switched off. A filter that finds little is given up after so many messages; the
page then says how many were looked at, and goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.subscription import Subscription
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.filter.sql import SqlExpression
from sprocketmq.protocol.message_queue import MessageQueue

SHOWN = 50
#: Queues that are read for one page; a topic with more is read queue by queue.
MOST_QUEUES = 64
_SCANNED = 10_000
_WINDOW = 512

Places = dict[MessageQueue, int]


@dataclass(frozen=True, slots=True)
class BrowseRequest:
    """What is looked for; `ends` of each queue are its first offset and the one after its last."""

    topic: str
    ends: Mapping[MessageQueue, tuple[int, int]]
    tags: str = "*"
    sql: SqlExpression | None = None

    @property
    def has_filter(self) -> bool:
        return self.sql is not None or self.tags not in ("", "*")

    def passes(self, message: ReceivedMessage) -> bool:
        return self.sql is None or self.sql.matches(message.properties)


@dataclass(frozen=True, slots=True)
class FoundMessages:
    """`places` is where to go on; None when there is no more."""

    messages: list[ReceivedMessage]
    places: Places | None
    looked_at: int


async def before(view: ClusterView, wanted: BrowseRequest, places: Places) -> FoundMessages:
    """The newest messages before these offsets, newest first."""
    walks = await asyncio.gather(*(_back(view, wanted, queue, end) for queue, end in places.items()))
    every = sorted((m for walk in walks for m in walk.found), key=_when, reverse=True)
    shown = every[:SHOWN]
    left = _left(every[SHOWN:], max)
    going_on = {walk.queue: left[walk.queue] + 1 if walk.queue in left else walk.at for walk in walks}
    more = any(at > wanted.ends[queue][0] for queue, at in going_on.items())
    return FoundMessages(shown, going_on if more else None, sum(walk.looked_at for walk in walks))


async def after(view: ClusterView, wanted: BrowseRequest, places: Places) -> FoundMessages:
    """The oldest messages from these offsets on, oldest first."""
    share = _SCANNED // max(1, len(places))
    walks = await asyncio.gather(
        *(_forward(view, wanted, queue, at, wanted.ends[queue][1], share) for queue, at in places.items())
    )
    every = sorted((m for walk in walks for m in walk.found), key=_when)
    shown = every[:SHOWN]
    left = _left(every[SHOWN:], min)
    going_on = {walk.queue: left.get(walk.queue, walk.at) for walk in walks}
    more = any(at < wanted.ends[queue][1] for queue, at in going_on.items())
    return FoundMessages(shown, going_on if more else None, sum(walk.looked_at for walk in walks))


@dataclass(slots=True)
class _Walk:
    queue: MessageQueue
    found: list[ReceivedMessage]
    at: int
    looked_at: int


def _when(message: ReceivedMessage) -> tuple[int, int]:
    """Of one broker's messages of one millisecond the log knows the order."""
    return message.record.store_timestamp, message.record.commit_offset


def _left(messages: list[ReceivedMessage], choose: Callable[[int, int], int]) -> Places:
    """Of those that did not fit on the page, the one to go on with in each queue."""
    places: Places = {}
    for message in messages:
        offset = message.queue_offset
        places[message.queue] = choose(places.get(message.queue, offset), offset)
    return places


async def _back(view: ClusterView, wanted: BrowseRequest, queue: MessageQueue, end: int) -> _Walk:
    """Window by window from `end` towards the beginning, each read forwards."""
    first, share = wanted.ends[queue][0], _SCANNED // max(1, len(wanted.ends))
    walk = _Walk(queue, [], end, 0)
    window = _WINDOW if wanted.has_filter else SHOWN
    while walk.at > first and len(walk.found) < SHOWN and walk.looked_at < max(share, window):
        begin = max(walk.at - window, first)
        part = await _forward(view, wanted, queue, begin, walk.at, walk.at - begin, all_of_it=True)
        walk.found += part.found
        walk.looked_at += walk.at - begin
        walk.at = begin
    return walk


async def _forward(
    view: ClusterView,
    wanted: BrowseRequest,
    queue: MessageQueue,
    begin: int,
    end: int,
    most: int,
    *,
    all_of_it: bool = False,
) -> _Walk:
    subscription = Subscription.of(queue.topic, wanted.tags or "*")
    walk = _Walk(queue, [], begin, 0)
    while walk.at < end and walk.looked_at < max(most, 1) and (all_of_it or len(walk.found) < SHOWN):
        messages, reached = await view.admin.messages.read(queue, walk.at, subscription)
        walk.found += [m for m in messages if m.queue_offset < end and wanted.passes(m)]
        if reached <= walk.at:
            walk.at = end
            break
        walk.looked_at += min(reached, end) - walk.at
        walk.at = min(reached, end)
    return walk


def encode(places: Places) -> str:
    """For an address: `broker-a:0:17~broker-a:1:3`."""
    return "~".join(f"{queue.broker_name}:{queue.queue_id}:{at}" for queue, at in places.items())


def decode(topic: str, text: str, ends: Mapping[MessageQueue, tuple[int, int]]) -> Places | None:
    """None when it is no such text; queues that are not there (any more) are left out."""
    places: Places = {}
    for part in text.split("~") if text else ():
        name, *numbers = part.rsplit(":", 2)
        if len(numbers) != 2 or not all(each.isdecimal() and len(each) < 20 for each in numbers):
            return None
        queue = MessageQueue(topic, name, int(numbers[0]))
        if queue in ends:
            first, end = ends[queue]
            places[queue] = min(max(int(numbers[1]), first), end)
    return places or None
