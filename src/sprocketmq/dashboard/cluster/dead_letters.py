"""Dead letters: messages that a group has given up on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from sprocketmq.client.admin.topics import TopicFigures
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.subscription import Subscription
from sprocketmq.dashboard.cluster import browse, topics
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import DLQ_PREFIX, dlq_topic


@dataclass(frozen=True, slots=True)
class Letters:
    """The dead letters of a group, by the ends of their queues."""

    group: str
    ends: dict[MessageQueue, tuple[int, int]]

    @property
    def count(self) -> int:
        return sum(end - first for first, end in self.ends.values())

    @property
    def topic(self) -> str:
        return dlq_topic(self.group)


async def groups(view: ClusterView) -> list[str]:
    return [name.removeprefix(DLQ_PREFIX) for name in (await topics.names(view))["dead"]]


async def rows(view: ClusterView, names: Iterable[str]) -> dict[str, TopicFigures | SprocketError]:
    return await view.each(names, lambda group: topics.figures(view, dlq_topic(group)))


async def of(view: ClusterView, group: str) -> Letters:
    """A group without dead letters has no topic for them."""
    if dlq_topic(group) not in (await topics.names(view))["dead"]:
        return Letters(group, {})
    found = await view.admin.topics.stats(dlq_topic(group))
    ends = {queue: (offset.min_offset, offset.max_offset) for queue, offset in found.items()}
    return Letters(group, {queue: pair for queue, pair in ends.items() if pair[1] > pair[0]})


async def newest(view: ClusterView, letters: Letters, places: browse.Places | None) -> browse.FoundMessages:
    wanted = browse.BrowseRequest(letters.topic, letters.ends)
    return await browse.before(view, wanted, places or {queue: end for queue, (_, end) in letters.ends.items()})


async def every(view: ClusterView, letters: Letters) -> AsyncIterator[ReceivedMessage]:
    """All that were there when `letters` was asked for, queue by queue."""
    for queue, (first, end) in letters.ends.items():
        at, subscription = first, Subscription(queue.topic)
        while at < end:
            messages, reached = await view.admin.messages.read(queue, at, subscription)
            for message in messages:
                if message.queue_offset < end:
                    yield message
            if reached <= at:
                break
            at = reached


async def chosen(view: ClusterView, group: str, places: Iterable[str]) -> AsyncIterator[ReceivedMessage]:
    """Those at places such as `broker-a:0:17`; what is not there (any more) is left out."""
    for place in places:
        broker, _, numbers = place.partition(":")
        queue, _, offset = numbers.partition(":")
        if queue.isdecimal() and offset.isdecimal() and len(offset) < 20 and len(queue) < 10:
            where = MessageQueue(view.full_name(dlq_topic(group)), broker, int(queue))
            message = await view.admin.messages.at(where, int(offset))
            if message is not None:
                yield message
