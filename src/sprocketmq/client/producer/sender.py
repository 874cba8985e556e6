"""From a prepared message to a receipt: where it goes, and what is done when that fails.

Each attempt goes to another broker where there is one. All attempts together fit into the caller's timeout, so a send
never waits longer than it was told to, whatever is down.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.route import Route
from sprocketmq.client.errors import Refused, TimedOut, Unreachable
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.producer.broker_latency import LatencyFaults
from sprocketmq.client.producer.encoder import Outgoing
from sprocketmq.client.producer.queue_selectors import QueueSelector, RoundRobin
from sprocketmq.client.producer.send_answer import receipt_of
from sprocketmq.client.producer.straight import Lanes
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.telemetry.hooks import SendContext, SendHook, run_hooks
from sprocketmq.protocol.message_queue import MessageQueue

_PAUSE_S = 0.05  # before the same queue is tried again


class Sender:
    """Sends for one producer group."""

    def __init__(
        self, instance: ClientInstance, group: str, settings: ProducerSettings, hooks: Sequence[SendHook] = ()
    ) -> None:
        self.instance = instance
        self.group = group
        self.faults = LatencyFaults()
        self.lanes = Lanes(instance.transport, group, settings)
        self._settings = settings
        self._hooks = list(hooks)
        self._turns: dict[str, RoundRobin] = {}

    async def route(self, topic: str, deadline: float) -> Route:
        """Where `topic` can be sent to; waits no longer than `deadline` for a nameserver."""
        known = self.instance.routes.known(topic)
        if known is not None and known.write_queues:
            return known
        seconds = deadline - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(seconds, 0)):
                route = await self.instance.routes.for_sending(topic, self._settings.topic_queues, deadline)
        except TimeoutError:
            raise TimedOut(f"no route to topic {topic} within the timeout of the send") from None
        self.instance.heartbeat_soon()
        return route

    async def send(
        self, outgoing: Outgoing, deadline: float, *, message: Message | None = None,
        queue: MessageQueue | None = None, selector: QueueSelector | None = None, tried: str | None = None,
    ) -> SendReceipt:  # fmt: skip
        """The receipt of the first attempt that succeeds, or the error of the last one.

        `tried` names the broker that an attempt has failed on already, by the straight way. A message that belongs to
        one queue is tried once, for a second try could overtake a later message.
        """
        avoid = tried
        left = 0 if queue is not None or selector is not None else self._settings.retries - (tried is not None)
        while True:
            route = await self.route(outgoing.topic, deadline)
            chosen = queue or self.choose(route, message, selector, avoid)
            try:
                receipt = await self.attempt(outgoing, route, chosen, deadline)
            except (Unreachable, TimedOut, Refused) as error:
                if not error.retriable or left <= 0 or asyncio.get_running_loop().time() >= deadline:
                    raise
                self.instance.refresh_soon()
            else:
                if receipt.ok or left <= 0 or not self._settings.retry_when_not_ok:
                    return receipt
            avoid = chosen.broker_name
            left -= 1

    async def insist(self, outgoing: Outgoing, deadline: float, queue: MessageQueue) -> SendReceipt:
        """The same queue until `deadline`: for a caller that sends nothing else to it meanwhile."""
        loop = asyncio.get_running_loop()
        while True:
            route = await self.route(outgoing.topic, deadline)
            try:
                return await self.attempt(outgoing, route, queue, min(deadline, self.deadline()))
            except (Unreachable, TimedOut, Refused) as error:
                if not error.retriable or loop.time() + _PAUSE_S >= deadline:
                    raise
            self.instance.refresh_soon()
            await asyncio.sleep(_PAUSE_S)

    async def attempt(self, outgoing: Outgoing, route: Route, queue: MessageQueue, deadline: float) -> SendReceipt:
        """One try on one queue."""
        address = master_of(route, queue)
        loop = asyncio.get_running_loop()
        started = loop.time()
        if started >= deadline:
            raise TimedOut("the timeout of the send has passed")
        command = outgoing.command(self.group, queue.queue_id, queue.broker_name, self._settings.topic_queues)
        try:
            answer = await self.instance.transport.call(address, command, deadline - started)
        except (Unreachable, TimedOut):
            self.took(queue, started, failed=True)
            raise
        self.took(queue, started)
        return receipt_of(answer, outgoing.unique_key, queue, address)

    def took(self, queue: MessageQueue, started: float, *, failed: bool = False) -> None:
        """Note how long the broker of `queue` needed for what was sent to it at `started`."""
        self.faults.record(queue.broker_name, (asyncio.get_running_loop().time() - started) * 1000, failed=failed)

    def deadline(self) -> float:
        """For one attempt that begins now."""
        return asyncio.get_running_loop().time() + self._settings.send_timeout

    async def oneway(self, outgoing: Outgoing, route: Route, queue: MessageQueue) -> None:
        command = outgoing.command(self.group, queue.queue_id, queue.broker_name, self._settings.topic_queues)
        await self.instance.transport.oneway(master_of(route, queue), command)

    def choose(
        self, route: Route, message: Message | None = None, selector: QueueSelector | None = None,
        avoid: str | None = None,
    ) -> MessageQueue:  # fmt: skip
        if selector is not None and message is not None:
            return selector(message, route.write_queues)
        return self.next_queue(route.topic, route.write_queues, avoid)

    def next_queue(self, topic: str, queues: Sequence[MessageQueue], avoid: str | None = None) -> MessageQueue:
        turn = self._turns.get(topic)
        if turn is None:
            turn = self._turns[topic] = RoundRobin()
        usable = self.faults.is_available if self._settings.avoid_slow_brokers else None
        return turn.choose(queues, avoid=avoid, is_available=usable)

    # -- hooks ------------------------------------------------------------------------------------------------------

    @property
    def is_observed(self) -> bool:
        return bool(self._hooks)

    @contextmanager
    def observed(self, topic: str, messages: Sequence[Message], kind: str = "normal") -> Iterator[SendContext]:
        """One send in the eyes of the hooks.

        The block sends, with the properties that they have added, and leaves its receipt in the context. However it
        is left, by an error or a cancellation too, the hooks hear of the end.
        """
        context = self.begin(topic, messages, kind)
        if context is None:
            yield SendContext(self.group, topic, messages, kind)  # nobody looks on
            return
        try:
            yield context
        except BaseException as error:
            self.end(context, error=error)
            raise
        self.end(context, receipt=context.receipt)

    def begin(self, topic: str, messages: Sequence[Message], kind: str = "normal") -> SendContext | None:
        """What hooks see of a send; None when there are no hooks."""
        if not self._hooks:
            return None
        context = SendContext(self.group, topic, messages, kind)
        run_hooks([hook.before_send for hook in self._hooks], context)
        return context

    def end(
        self, context: SendContext | None, receipt: SendReceipt | None = None, error: BaseException | None = None
    ) -> None:
        if context is None:
            return
        context.receipt, context.error, context.ended = receipt, error, time.time()
        if receipt is not None:
            context.queue = receipt.queue
        run_hooks([hook.after_send for hook in self._hooks], context)


def master_of(route: Route, queue: MessageQueue) -> str:
    address = route.master(queue.broker_name)
    if address is None:
        raise Unreachable(queue.broker_name, "its master is not in the route")
    return address
