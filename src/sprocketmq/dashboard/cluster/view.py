"""One account's eyes on the cluster: an admin client, what it was answered a moment ago, and figures over time."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from sprocketmq.client.admin import AdminClient
from sprocketmq.client.errors import ClientError
from sprocketmq.client.options import ClientOptions
from sprocketmq.dashboard.cluster.history import LagHistory
from sprocketmq.dashboard.cluster.lost_brokers import LostBrokers
from sprocketmq.dashboard.cluster.snapshots import Snapshots
from sprocketmq.dashboard.cluster.topic_counts import TopicCounts
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.bodies.cluster import ClusterInfo
from sprocketmq.protocol.names import with_namespace

if TYPE_CHECKING:
    from sprocketmq.client.producer.producer import Producer

T = TypeVar("T")

#: Requests that one page has under way at once.
_AT_ONCE = 24
_CLUSTER_S = 5.0


@dataclass(frozen=True, slots=True)
class GroupLags:
    """How many messages each group had not consumed when that was last asked, and how many seconds the answer took."""

    by_group: Counter[str] = field(default_factory=Counter)
    #: Whether every broker told.
    is_complete: bool = False
    took: float = 0.0


class ClusterView:
    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.admin = AdminClient(options)
        self.snapshots = Snapshots()
        self.history = LagHistory()
        self.lost = LostBrokers()
        self.lags = GroupLags()
        self.topic_counts: defaultdict[str, TopicCounts] = defaultdict(TopicCounts)
        self._producer: Producer | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        await self.admin.start()

    async def stop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()
        await self.admin.stop()

    def full_name(self, name: str) -> str:
        return with_namespace(self.options.namespace, name)

    async def cluster(self) -> ClusterInfo:
        return await self.snapshots.get("cluster", _CLUSTER_S, self.admin.brokers.cluster)

    async def masters(self) -> dict[str, str]:
        """Addresses by broker name; those without a master are left out."""
        table = (await self.cluster()).broker_addr_table
        return {name: data.broker_addrs[0] for name, data in sorted(table.items()) if 0 in data.broker_addrs}

    async def producer(self) -> Producer:
        """For messages that are sent from a page; started by the first."""
        from sprocketmq.client.producer.producer import Producer

        async with self._starting:
            if self._producer is None:
                self._producer = await Producer("sprocket-console", self.options).start()
        return self._producer

    async def each(
        self, names: Iterable[str], ask: Callable[[str], Awaitable[T]], at_once: int = _AT_ONCE
    ) -> dict[str, T | SprocketError]:
        """The answer for each name, or why there is none; a few at a time."""
        few = asyncio.Semaphore(at_once)

        async def one(name: str) -> T | SprocketError:
            async with few:
                return await known(ask(name))

        wanted = list(names)
        return dict(zip(wanted, await asyncio.gather(*(one(name) for name in wanted)), strict=True))


async def known(asked: Awaitable[T]) -> T | SprocketError:
    """The answer, or the reason why the cluster gave none."""
    try:
        return await asked
    except (ClientError, SprocketError) as error:
        return error
