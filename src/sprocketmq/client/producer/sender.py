# cython: annotation_typing=False
"""From what a request carries to a receipt: where it goes, and what is done when that fails.

    launch    the first half of an attempt, which waits for nothing: the request is encoded and written
    landed    the second half: a receipt out of the answer
    send      attempts, each on another broker where there is one, until one succeeds; where a broker has slaves, also
              until one of them has become the master
    reach     where a request goes that nobody answers, when that is connected
    insist    attempts on one queue, until one succeeds

All attempts together fit into the caller's deadline: a send never waits longer than it was told to, whatever is down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from sprocketmq.client.arguments import check_timeout
from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.route import Route
from sprocketmq.client.errors import ClientError, Refused, TimedOut, Unreachable
from sprocketmq.client.message import SendReceipt
from sprocketmq.client.producer.broker_latency import LatencyFaults
from sprocketmq.client.producer.failover import PAUSE_S, may_elect
from sprocketmq.client.producer.in_flight import InFlight
from sprocketmq.client.producer.queue_routes import QueueRoute, QueueRoutes, in_turn
from sprocketmq.client.producer.send_answer import receipt_of
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.telemetry.hooks import SendHook, SendHooks
from sprocketmq.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from sprocketmq.errors import RemotingError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.send_frame import Payload
from sprocketmq.remoting.connection import Connection

_LOOK_S = 0.6  # until somebody looks whether sends wait in vain
_BATCH = int(RequestCode.SEND_BATCH_MESSAGE)
_REPLY = int(RequestCode.SEND_REPLY_MESSAGE_V2)
_NO_ANSWER = int(FLAG_ONEWAY)

#: One of a topic's queues for the message that is sent.
Select = Callable[[Sequence[MessageQueue]], MessageQueue]


class PendingSend:
    """An attempt that is on its way; `answer` brings what the broker says."""

    __slots__ = ("answer", "deadline", "route", "started")

    route: QueueRoute
    started: float
    deadline: float
    answer: asyncio.Future[Command]


class Sender:
    """Sends for one producer group, within one event loop."""

    __slots__ = (
        "_in_flight", "_is_available", "_is_watching", "_known", "_loop", "_retries", "_retry_when_not_ok", "_routes",
        "_send_timeout", "_topic_queues", "faults", "group", "hooks", "instance", "is_observed",
    )  # fmt: skip

    def __init__(
        self, instance: ClientInstance, group: str, settings: ProducerSettings, hooks: Sequence[SendHook] = ()
    ) -> None:
        self.instance = instance
        self.group = group
        self.hooks = SendHooks(group, hooks)
        self.is_observed = bool(hooks)
        self.faults = LatencyFaults()
        self._is_available = self.faults.is_available if settings.avoid_slow_brokers else None
        self._in_flight = InFlight(settings.in_flight)
        self._is_watching = False
        self._known = instance.routes.known
        self._loop = asyncio.get_running_loop()
        self._retries = settings.retries
        self._retry_when_not_ok = settings.retry_when_not_ok
        self._routes = QueueRoutes(instance.transport, group, settings)
        self._send_timeout = settings.send_timeout
        self._topic_queues = settings.topic_queues

    # -- where it goes ----------------------------------------------------------------------------------------------

    async def route(self, topic: str, deadline: float) -> Route:
        """Where `topic` can be sent to; waits no longer than `deadline` for a nameserver."""
        known: Route | None = self._known(topic)
        if known is not None and known.write_queues:
            return known
        try:
            async with asyncio.timeout(max(deadline - self._loop.time(), 0)):
                route = await self.instance.routes.for_sending(topic, self._topic_queues, deadline)
        except TimeoutError:
            asked = ", ".join(self.instance.nameservers.addresses)
            raise TimedOut(
                f"no route to topic {topic} from nameserver {asked} within the timeout of the send"
            ) from None
        self.instance.heartbeat_soon()
        return route

    def next_queue(self, route: Route, free: Sequence[MessageQueue]) -> MessageQueue:
        """The next in turn of some of the topic's queues."""
        routes = self._routes.of(route)
        routes.turn += 1
        return in_turn(free, routes.turn, None, self._is_available)

    def choose(self, route: Route, queue: MessageQueue | None = None, avoid: str | None = None) -> QueueRoute:
        """The way to `queue`, or to the next in turn that is not on the broker `avoid`."""
        routes = self._routes.of(route)
        if queue is not None:
            return routes.to(queue)
        return routes.next(avoid, self._is_available)

    # -- one attempt ------------------------------------------------------------------------------------------------

    def launch(self, payload: Payload, route: QueueRoute, deadline: float) -> PendingSend | None:
        """Write the request now; None when its broker is not connected, or no time is left."""
        connection = route.connection()
        started = self._loop.time()
        if connection is None or started >= deadline:
            return None
        return self._write(payload, route, connection, started, deadline)

    def landed(self, payload: Payload, pending: PendingSend) -> SendReceipt:
        """The second half of an attempt, when its answer has come or is lost. Raises what the client calls that."""
        try:
            answer = pending.answer.result()
        except RemotingError as error:
            raise self._lost(pending, error) from None
        if self._is_available is not None:
            self._took(pending.route, pending.started)
        return receipt_of(answer, payload.unique_key, pending.route.queue, pending.route.address)

    def oneway(self, payload: Payload, route: QueueRoute, connection: Connection) -> None:
        """Write a request that nobody answers."""
        connection.put(route.frames.whole(payload, connection.next_opaque(), _NO_ANSWER))

    async def launch_connected(self, payload: Payload, route: QueueRoute, deadline: float) -> PendingSend:
        """As `launch`, after connecting."""
        started = self._loop.time()
        if started >= deadline:
            raise TimedOut("the timeout of the send has passed")
        try:
            connection = await self.instance.transport.connect(route.address, deadline - started)
        except (Unreachable, TimedOut):
            self._took(route, started, failed=True)
            raise
        now = self._loop.time()
        return self._write(payload, route, connection, now, max(deadline, now + 0.001))

    def _write(
        self, payload: Payload, route: QueueRoute, connection: Connection, started: float, deadline: float
    ) -> PendingSend:
        pending = PendingSend.__new__(PendingSend)  # compiled, the assignments cost less than the call of a constructor
        pending.route = route
        pending.started = started
        pending.deadline = deadline
        opaque, pending.answer = connection.expect(deadline - started)
        if not self._is_watching:
            self._watch()
        if payload.code == _BATCH:  # large: its body is not copied, and the broker begins with it while we go on
            connection.put_now([route.frames.head(payload, opaque), payload.body])
        else:
            connection.put(route.frames.whole(payload, opaque))
        return pending

    def _watch(self) -> None:
        """One look serves all sends of that time: none of them has a timer of its own."""
        self._is_watching = True
        self._loop.call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._is_watching = False
        if self.instance.silent_masters.look():
            self._watch()

    def _lost(self, pending: PendingSend, error: RemotingError) -> ClientError:
        """No answer came: what that is called among the client's errors."""
        self._took(pending.route, pending.started, failed=True)
        return self.instance.transport.failure(pending.route.address, error, pending.deadline - pending.started)

    def _took(self, route: QueueRoute, started: float, *, failed: bool = False) -> None:
        """Note how long the broker needed for what was begun at `started`."""
        self.faults.record(route.broker_name, (self._loop.time() - started) * 1000, failed=failed)

    # -- several attempts -------------------------------------------------------------------------------------------

    def deadline(self, timeout: float | None = None) -> float:
        """Of what begins now."""
        if timeout is not None:
            check_timeout(timeout)
        return self._loop.time() + (self._send_timeout if timeout is None else timeout)

    async def send(
        self, payload: Payload, deadline: float, queue: MessageQueue | None = None, select: Select | None = None,
        pending: PendingSend | None = None,
    ) -> SendReceipt:  # fmt: skip
        """The receipt of the first attempt that succeeds, or the error of the last one.

        What belongs to one queue is tried there alone, and again only when its broker may have another master: `queue`,
        or what `select` chooses once, for there may be fewer queues while the broker has no master. `pending` is the
        first attempt when it was launched before.
        """
        avoid, left = None, self._retries if queue is None and select is None else 0
        if not self._in_flight.take_free():
            await self._in_flight.take()
        try:
            while True:
                if pending is None:
                    known = self._known(payload.topic)
                    if known is None or not known.write_queues:
                        known = await self.route(payload.topic, deadline)
                    if select is not None:
                        queue, select = select(known.write_queues), None
                    try:
                        route = self.choose(known, queue, avoid)
                    except Unreachable as error:  # between two masters
                        if not await self._may_retry(error, payload.topic, deadline, queue):
                            raise
                        continue
                else:
                    route = pending.route
                try:
                    if pending is None:
                        pending = self.launch(payload, route, deadline)
                    if pending is None:
                        pending = await self.launch_connected(payload, route, deadline)
                    # Awaited here and not in a coroutine for one attempt: to make that costs as much as this loop.
                    try:  # noqa: SIM105 - this runs for every message, and `suppress` is a call
                        await pending.answer
                    except RemotingError:
                        pass  # `landed` tells what was lost
                    receipt = self.landed(payload, pending)
                except (Unreachable, TimedOut, Refused) as error:
                    if _is_undeliverable(payload, error):
                        raise
                    if not await self._may_retry(error, payload.topic, deadline, queue, left):
                        raise
                else:
                    if left <= 0 or not self._retry_when_not_ok or receipt.ok:
                        return receipt
                avoid, pending = route.broker_name, None
                left -= 1
        finally:
            self._in_flight.give_back()

    async def _may_retry(
        self, error: ClientError, topic: str, deadline: float, queue: MessageQueue | None, left: int = 0
    ) -> bool:
        """Whether to try once more, with `left` tries that need no reason."""
        if not error.retriable:
            return False
        self.instance.refresh_soon()  # also for the next one: a master that hangs takes all the time
        if self._loop.time() >= deadline:
            return False
        return left > 0 or await may_elect(self.instance.routes, topic, deadline, queue)

    async def reach(
        self, topic: str, deadline: float, queue: MessageQueue | None = None, select: Select | None = None
    ) -> tuple[QueueRoute, Connection]:
        """The way to a queue, chosen as by `send`, and its connection: for what nobody answers."""
        while True:
            known = await self.route(topic, deadline)
            if select is not None:
                queue, select = select(known.write_queues), None
            try:
                route = self.choose(known, queue)
                left = deadline - self._loop.time()
                return route, route.connection() or await self.instance.transport.connect(route.address, left)
            except (Unreachable, TimedOut) as error:
                if not await self._may_retry(error, topic, deadline, queue):
                    raise

    async def insist(self, payload: Payload, deadline: float, queue: MessageQueue) -> SendReceipt:
        """The same queue until `deadline`: for a caller that sends nothing else to it meanwhile."""
        while True:
            try:
                return await self.send(payload, min(deadline, self.deadline()), queue)
            except (Unreachable, TimedOut, Refused) as error:
                if not error.retriable or self._loop.time() + PAUSE_S >= deadline:
                    raise
            self.instance.refresh_soon()
            await asyncio.sleep(PAUSE_S)


def _is_undeliverable(payload: Payload, error: ClientError) -> bool:
    """Of a reply: its broker does not find who asked, and brokers of RocketMQ keep it all the same."""
    return payload.code == _REPLY and isinstance(error, Refused) and error.code == ResponseCode.SYSTEM_ERROR
