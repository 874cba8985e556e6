"""What the producers and consumers of one process share: connections, routes, heartbeats, and one client id.

Brokers know a client by this id, and tell group members apart by it. So two consumers of one group never share an
instance, and an id is never used twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TypeVar

from sprocketmq.client.cluster.broker_requests import PushedRequests
from sprocketmq.client.cluster.identity import client_id
from sprocketmq.client.cluster.member_protocols import ConsumerMember, ProducerMember
from sprocketmq.client.cluster.requests import check, request
from sprocketmq.client.cluster.route import MASTER
from sprocketmq.client.cluster.routes import RouteCache
from sprocketmq.client.cluster.silent_masters import SilentMasters
from sprocketmq.client.cluster.tasks import BackgroundTasks, Ticker
from sprocketmq.client.cluster.transport import NameServers, RemotingTransport, Transport
from sprocketmq.client.errors import ClientError, Closed, NoRoute
from sprocketmq.client.options import ClientOptions
from sprocketmq.codes import RequestCode
from sprocketmq.protocol import bodies
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.remoting.handlers import ProcessorTable

log = logging.getLogger("sprocketmq.client.cluster.instance")

INNER_PRODUCER = "CLIENT_INNER_PRODUCER"
_GOODBYE_S = 1.0

H = TypeVar("H")


class ClientInstance:
    """Lives in one event loop. `start` and `stop` are called by the first and the last of its members."""

    def __init__(self, options: ClientOptions, transport: Transport | None = None) -> None:
        self.options = options
        self.client_id = client_id(options.instance_name, options.unit_name)
        self.producers: dict[str, ProducerMember] = {}
        self.consumers: dict[str, ConsumerMember] = {}
        self.pushed = PushedRequests(self)
        self.transport = transport or self._remoting()
        self.nameservers = NameServers(options.nameservers, self.transport)
        self.routes = RouteCache(self.nameservers, options.request_timeout)
        self.tasks = BackgroundTasks()
        self.silent_masters = SilentMasters(self)
        self._heartbeats = Ticker("heartbeat", options.heartbeat_interval, self.heartbeat)
        self._refreshes = Ticker("route refresh", options.route_interval, self.refresh_routes)
        self._greeted: set[str] = set()
        self._greeting: set[str] = set()
        self._claims: set[tuple[str, str | None]] = set()
        self._stopped = False

    def _remoting(self) -> Transport:
        table = ProcessorTable()
        self.pushed.register(table)
        return RemotingTransport(self.options, table, self._on_connected)

    def start(self) -> None:
        self.tasks.spawn(self._heartbeats.run(), "heartbeats")
        self.tasks.spawn(self._refreshes.run(), "route refresh")

    async def stop(self) -> None:
        self._stopped = True
        await self.tasks.stop()
        await self.routes.close()
        await self.transport.close()

    # -- members ----------------------------------------------------------------------------------------------------

    def claim(self, *, producer: str | None = None, consumer: str | None = None) -> bool:
        """Keep a place for a member of these groups; False when there is one already."""
        wanted = {("producer", producer), ("consumer", consumer)} - {("producer", None), ("consumer", None)}
        if self._stopped or wanted & self._claims:
            return False
        self._claims |= wanted
        return True

    def unclaim(self, *, producer: str | None = None, consumer: str | None = None) -> None:
        self._claims -= {("producer", producer), ("consumer", consumer)}

    async def join(self, *, producer: ProducerMember | None = None, consumer: ConsumerMember | None = None) -> None:
        """Make a member known to the brokers that are known."""
        if producer is not None:
            self.producers[producer.group] = producer
        if consumer is not None:
            self.consumers[consumer.group] = consumer
        await self.heartbeat()

    async def leave(self, *, producer: str | None = None, consumer: str | None = None) -> None:
        """Tell the brokers, so that the rest of the group takes over at once."""
        if producer is not None:
            self.producers.pop(producer, None)
        if consumer is not None:
            self.consumers.pop(consumer, None)
        named = {"clientID": self.client_id, "producerGroup": producer, "consumerGroup": consumer}
        header = {key: value for key, value in named.items() if value is not None}
        calls = [
            self.transport.call(address, request(RequestCode.UNREGISTER_CLIENT, header), _GOODBYE_S)
            for address in self._greeted
        ]
        await asyncio.gather(*calls, return_exceptions=True)

    # -- requests ---------------------------------------------------------------------------------------------------

    async def call(
        self, address: str, code: int, header: object | None = None, *, body: bytes = b"", timeout: float | None = None
    ) -> Command:
        """A request to a broker; raises Refused when it does not succeed."""
        return check(await self.ask(address, code, header, body=body, timeout=timeout), address)

    async def ask(
        self, address: str, code: int, header: object | None = None, *, body: bytes = b"", timeout: float | None = None
    ) -> Command:
        """A request to a broker; the answer may have any code."""
        if self._stopped:
            raise Closed("the client was stopped")
        seconds = self.options.request_timeout if timeout is None else timeout
        return await self.transport.call(address, request(code, header, body), seconds)

    async def oneway(self, address: str, code: int, header: object | None = None, *, body: bytes = b"") -> None:
        if self._stopped:
            raise Closed("the client was stopped")
        await self.transport.oneway(address, request(code, header, body))

    async def address_of(self, queue: MessageQueue, broker_id: int = MASTER) -> str:
        """Where to ask about a queue; the route is fetched again when it does not know the broker."""
        route = await self.routes.get(queue.topic)
        address = route.address(queue.broker_name, broker_id)
        if address is None:
            route = await self.routes.fetch(queue.topic)
            address = route.address(queue.broker_name, broker_id)
        if address is None:
            raise NoRoute(queue.topic, f"broker {queue.broker_name} is gone")
        return address

    # -- heartbeats and routes ----------------------------------------------------------------------------------------

    async def heartbeat(self) -> None:
        """Tell every known broker who lives here. One that does not answer is tried again at the next tick."""
        if not (self.producers or self.consumers):
            return
        addresses = self._brokers()
        results = await asyncio.gather(*(self._greet(address) for address in addresses), return_exceptions=True)
        for address, result in zip(addresses, results, strict=True):
            if isinstance(result, ClientError):
                log.info("heartbeat failed address=%s error=%s", address, result)
            elif isinstance(result, BaseException):
                raise result

    async def greet_new(self) -> None:
        """Heartbeats to brokers that have not had one yet."""
        strangers = [address for address in self._brokers() if address not in self._greeted]
        await asyncio.gather(*(self._greet(address) for address in strangers))

    def heartbeat_soon(self) -> None:
        self._heartbeats.wake()

    async def refresh_routes(self, topics: Sequence[str] | None = None) -> bool:
        """Ask for the routes of `topics`, or of all that matter here; whether any is another one."""
        if topics is None:
            topics = sorted(set(self.routes.topics).union(*(member.topics() for member in self.consumers.values())))
        changed = set(await self.routes.refresh(topics))
        if not changed:
            return False
        self._heartbeats.wake()
        for member in self.consumers.values():
            if changed & member.topics():
                member.rebalance_soon()
        return True

    def refresh_soon(self) -> None:
        self._refreshes.wake()

    def _brokers(self) -> list[str]:
        """Masters; with consumers also slaves, for they may be read from."""
        brokers = self.routes.brokers().values()
        return sorted({address for ids in brokers for i, address in ids.items() if i == MASTER or self.consumers})

    async def _greet(self, address: str) -> None:
        body = codec.encode(
            bodies.heartbeat.HeartbeatData(
                client_id=self.client_id,
                producer_data_set=tuple(
                    bodies.heartbeat.ProducerData(group_name=group) for group in (INNER_PRODUCER, *self.producers)
                ),
                consumer_data_set=tuple(member.heartbeat() for member in self.consumers.values()),
            )
        )
        self._greeting.add(address)
        try:
            await self.call(address, RequestCode.HEART_BEAT, body=body)
        finally:
            self._greeting.discard(address)
        self._greeted.add(address)

    def _on_connected(self, address: str) -> None:
        """A broker forgets the clients of a connection that ends, so a new one begins with a heartbeat.

        One that a heartbeat has made needs no other: two would keep each other going while a broker hangs up on us.
        """
        if address in self._greeted and address not in self._greeting and not self._stopped:
            self._heartbeats.wake()
