"""Where the queues of a topic are.

A route is what a nameserver says of one topic: brokers with their addresses, and how many queues each has. From it come
    write queues    on brokers whose master is known and whose permission allows writing
    read queues     whose permission allows reading, on master or slave
both sorted, so that every client sees the same order. The queues of a static topic are its logical ones in the order
of their ids, each on the broker that leads it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sprocketmq.client.errors import ClientError, NoRoute, Refused
from sprocketmq.client.logical import leaders
from sprocketmq.client.transport import NameServers
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol import bodies
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.message_queue import MessageQueue

log = logging.getLogger(__name__)

MASTER = 0
PERM_READ = 4
PERM_WRITE = 2
AUTO_CREATE_TOPIC = "TBW102"


@dataclass(frozen=True)
class Route:
    """One topic's brokers and queues."""

    topic: str
    addresses: Mapping[str, Mapping[int, str]]  # broker name to broker id to address
    clusters: Mapping[str, str]  # broker name to cluster
    write_counts: Mapping[str, int]
    read_counts: Mapping[str, int]
    order_conf: str = ""
    logical: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of a static topic: broker name to queue ids

    @cached_property
    def write_queues(self) -> tuple[MessageQueue, ...]:
        if self.order_conf:  # a fixed list keeps an ordered topic in order while a broker is away
            return _ordered(self.topic, self.order_conf)
        with_master = {name: n for name, n in self.write_counts.items() if MASTER in self.addresses.get(name, {})}
        return self._queues(with_master)

    @cached_property
    def read_queues(self) -> tuple[MessageQueue, ...]:
        return self._queues(self.read_counts)

    def _queues(self, counts: Mapping[str, int]) -> tuple[MessageQueue, ...]:
        if self.logical:
            led = sorted((queue_id, name) for name in counts for queue_id in self.logical.get(name, ()))
            return tuple(MessageQueue(self.topic, name, queue_id) for queue_id, name in led)
        return tuple(MessageQueue(self.topic, name, i) for name in sorted(counts) for i in range(counts[name]))

    def master(self, broker_name: str) -> str | None:
        return self.addresses.get(broker_name, {}).get(MASTER)

    def address(self, broker_name: str, broker_id: int = MASTER) -> str | None:
        """The address of that replica, or of any other when it is gone: reads work from a slave."""
        replicas = self.addresses.get(broker_name, {})
        return replicas.get(broker_id) or next((replicas[i] for i in sorted(replicas)), None)

    @classmethod
    def of(cls, topic: str, data: bodies.route.TopicRouteData) -> Route:
        return cls(
            topic,
            {broker.broker_name: dict(broker.broker_addrs) for broker in data.broker_datas},
            {broker.broker_name: broker.cluster for broker in data.broker_datas},
            {q.broker_name: q.write_queue_nums for q in data.queue_datas if q.perm & PERM_WRITE},
            {q.broker_name: q.read_queue_nums for q in data.queue_datas if q.perm & PERM_READ},
            data.order_topic_conf or "",
            leaders(data.topic_queue_mapping_by_broker),
        )


def _ordered(topic: str, conf: str) -> tuple[MessageQueue, ...]:
    """`broker-a:4;broker-b:2`, in that order."""
    pairs = (part.partition(":") for part in conf.split(";") if part)
    return tuple(MessageQueue(topic, name, i) for name, _, count in pairs for i in range(int(count)))


@dataclass
class RouteTable:
    """Routes as last heard. A topic asked for once is kept fresh by `refresh`; one fetch at a time per topic."""

    nameservers: NameServers
    timeout: float = 3.0
    _routes: dict[str, Route] = field(default_factory=dict)
    _fetching: dict[str, asyncio.Task[Route]] = field(default_factory=dict)

    def known(self, topic: str) -> Route | None:
        return self._routes.get(topic)

    @property
    def topics(self) -> list[str]:
        return list(self._routes)

    async def get(self, topic: str) -> Route:
        """The route, fetched when it is not known yet. Raises NoRoute or Offline."""
        return self._routes.get(topic) or await self.fetch(topic)

    async def fetch(self, topic: str) -> Route:
        """The route as a nameserver gives it now; callers that ask together share one request."""
        task = self._fetching.get(topic)
        if task is None:
            task = self._fetching[topic] = asyncio.ensure_future(self._fetch(topic))
            task.add_done_callback(lambda _: self._fetching.pop(topic, None))
        return await asyncio.shield(task)

    async def for_sending(self, topic: str, queue_count: int) -> Route:
        """The route of `topic`; of one that does not exist, where a broker would create it."""
        try:
            route = await self.get(topic)
        except NoRoute as unknown:
            return await self._for_new_topic(topic, queue_count, unknown)
        if not route.write_queues:
            route = await self.fetch(topic)
        if not route.write_queues:
            raise NoRoute(topic, "no broker takes messages for it now")
        return route

    async def refresh(self, topics: Iterable[str]) -> list[str]:
        """Fetch again; a topic whose nameservers are silent keeps its last route. Returns the topics that changed."""
        changed = []
        for topic in topics:
            before = self._routes.get(topic)
            try:
                if await self.fetch(topic) != before:
                    changed.append(topic)
            except ClientError as error:
                log.info("route refresh failed topic=%s error=%s", topic, error)
        return changed

    def brokers(self) -> dict[str, dict[int, str]]:
        """Every broker of every known route: name to id to address."""
        return {name: dict(ids) for route in self._routes.values() for name, ids in route.addresses.items()}

    async def close(self) -> None:
        for task in list(self._fetching.values()):
            task.cancel()

    async def _fetch(self, topic: str) -> Route:
        header = {"topic": topic, "acceptStandardJsonOnly": "true"}
        answer = await self.nameservers.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, header, timeout=self.timeout)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            raise NoRoute(topic, "no nameserver knows it")
        if answer.code != ResponseCode.SUCCESS:
            raise Refused(answer.code, answer.remark)
        route = self._routes[topic] = Route.of(topic, codec.decode(bodies.route.TopicRouteData, answer.body))
        return route

    async def _for_new_topic(self, topic: str, queue_count: int, unknown: NoRoute) -> Route:
        try:
            template = await self.get(AUTO_CREATE_TOPIC)
        except NoRoute:
            raise unknown from None
        counts = {name: min(count, queue_count) for name, count in template.write_counts.items()}
        return Route(topic, template.addresses, template.clusters, counts, counts)
