"""The routes that a client knows, asked of the nameservers and kept fresh."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from sprocketmq.client.cluster.repeated_warnings import RepeatedWarnings
from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.client.cluster.transport import NameServers
from sprocketmq.client.errors import ClientError, NoRoute, Offline, Refused
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol import bodies
from sprocketmq.protocol.bodies import codec

log = logging.getLogger("sprocketmq.client.cluster.routes")

_STARTING_S = 0.1  # between two looks at a cluster that is still starting
_ELECTING_S = 0.03  # and at one that is about to have another master
_STARTING = "starting"  # the key of what is told of it


@dataclass
class RouteCache:
    """Routes as last heard. A topic asked for once is kept fresh by `refresh`; one fetch at a time per topic."""

    nameservers: NameServers
    timeout: float = 3.0
    replicated: set[str] = field(default_factory=set)  # names of brokers that have slaves, or had
    _routes: dict[str, Route] = field(default_factory=dict)
    _fetching: dict[str, asyncio.Task[Route]] = field(default_factory=dict)
    _notices: RepeatedWarnings = field(default_factory=lambda: RepeatedWarnings(log))

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
            task.add_done_callback(lambda done: self._fetched(topic, done))
        return await asyncio.shield(task)

    async def for_sending(self, topic: str, queue_count: int, deadline: float = 0.0) -> Route:
        """The route of `topic`; of one that does not exist, where a broker would create it.

        A cluster that is still starting is waited for until `deadline`, as is a master that is being elected.
        """
        return await self._once_started(topic, lambda: self._for_sending_now(topic, queue_count), deadline)

    async def fetch_by(self, topic: str, deadline: float) -> Route:
        """As `fetch`; a cluster that is still starting is waited for until `deadline`."""
        return await self._once_started(topic, lambda: self.fetch(topic), deadline)

    async def _once_started(self, topic: str, ask: Callable[[], Awaitable[Route]], deadline: float) -> Route:
        has_started = False
        while True:
            try:
                route = await ask()
            except (Offline, NoRoute) as error:
                has_started = await self._before_next_try(topic, error, has_started, deadline)
            else:
                self._notices.over(_STARTING)
                return route

    async def _before_next_try(self, topic: str, error: Offline | NoRoute, has_started: bool, deadline: float) -> bool:
        """Whether the cluster has started, once it is time to ask again. Raises `error` where that cannot help.

        While no nameserver answers or no broker has registered, the cluster is still starting; while there are slaves
        and no master, one is being elected.
        """
        left = deadline - asyncio.get_running_loop().time() - _STARTING_S
        known = self._routes.get(topic)
        if left <= 0 or (isinstance(error, Offline) and error.is_lasting):
            raise error
        if isinstance(error, NoRoute) and known is not None and known.replicated:
            await asyncio.sleep(_ELECTING_S)
            return has_started
        if isinstance(error, NoRoute) and has_started:
            raise error
        if isinstance(error, NoRoute) and await self._has_brokers(left):
            return True  # and the route may have come in between
        self._notices.tell(_STARTING, "waiting for the cluster until the call times out error=%s", error)
        await asyncio.sleep(_STARTING_S)
        return False

    async def _for_sending_now(self, topic: str, queue_count: int) -> Route:
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

    def _fetched(self, topic: str, done: asyncio.Task[Route]) -> None:
        self._fetching.pop(topic, None)
        if not done.cancelled():
            done.exception()  # seen, also when the time of whoever asked was up before

    async def _fetch(self, topic: str) -> Route:
        header = {"topic": topic, "acceptStandardJsonOnly": "true"}
        answer = await self.nameservers.call(RequestCode.GET_ROUTEINFO_BY_TOPIC, header, timeout=self.timeout)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            raise NoRoute(topic, "no nameserver knows it")
        if answer.code != ResponseCode.SUCCESS:
            raise Refused(answer.code, answer.remark)
        route = self._routes[topic] = Route.of(topic, codec.decode(bodies.route.TopicRouteData, answer.body))
        self.replicated |= route.replicated
        return route

    async def _has_brokers(self, seconds: float) -> bool:
        timeout = min(self.timeout, seconds)
        try:
            answer = await self.nameservers.call(RequestCode.GET_BROKER_CLUSTER_INFO, timeout=timeout)
        except ClientError:
            return False  # nothing is known of it yet
        if answer.code != ResponseCode.SUCCESS or not answer.body:
            return True  # who may not look has to take the route's word for it
        return bool(codec.decode(bodies.cluster.ClusterInfo, answer.body).broker_addr_table)

    async def _for_new_topic(self, topic: str, queue_count: int, unknown: NoRoute) -> Route:
        try:
            template = await self.get(AUTO_CREATE_TOPIC)
        except NoRoute:
            raise unknown from None
        counts = {name: min(count, queue_count) for name, count in template.write_counts.items()}
        return Route(topic, template.addresses, template.clusters, counts, counts)
