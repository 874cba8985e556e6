"""The push consumer as users see it: subscriptions, its life, and the face it shows to its instance."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, Unpack

from sprocketmq.client.cluster.instance import INNER_PRODUCER, ClientInstance
from sprocketmq.client.cluster.shared_instances import acquire, release
from sprocketmq.client.cluster.subscription_check import check_subscription
from sprocketmq.client.cluster.tasks import BackgroundTasks, Ticker
from sprocketmq.client.errors import ClientError, Closed
from sprocketmq.client.names import full_group, full_topic
from sprocketmq.client.options import ClientOptions, Connecting, describe, settings_of
from sprocketmq.client.producer import request_reply
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.push.concurrent import ConcurrentConsumption
from sprocketmq.client.push.context import Running, handling
from sprocketmq.client.push.handler_threads import HandlerThreads
from sprocketmq.client.push.handlers import Handler, check_function, check_subscribed
from sprocketmq.client.push.inspection import consume_directly, running_info
from sprocketmq.client.push.offset_store import BrokerOffsets, FileOffsets, OffsetStore, default_path
from sprocketmq.client.push.orderly import OrderlyConsumption
from sprocketmq.client.push.pop import PopConsumption
from sprocketmq.client.push.process_queue import ProcessQueue
from sprocketmq.client.push.rate import RateLimit
from sprocketmq.client.push.rebalance import Rebalance
from sprocketmq.client.push.retries import MAX_TRIES, UNLIMITED, RetryPlan, SendBack
from sprocketmq.client.push.stop_signals import on_stop_signal
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import ConsumerSettings, ProducerSettings
from sprocketmq.client.subscription import Subscription
from sprocketmq.client.telemetry.default_hooks import default_hooks
from sprocketmq.client.telemetry.hooks import ConsumeHook, SendHook, checked_hooks, checked_trace
from sprocketmq.protocol.bodies.heartbeat import ConsumerData
from sprocketmq.protocol.bodies.running_info import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from sprocketmq.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import retry_topic, with_namespace

if TYPE_CHECKING:
    from sprocketmq.client.telemetry.trace import Tracer

#: A handler; one that was declared with `batch` takes a list.
F = TypeVar(
    "F",
    bound=Callable[[ReceivedMessage], Any]
    | Callable[[Sequence[ReceivedMessage]], Any]
    | Callable[[list[ReceivedMessage]], Any],
)

_SOON_S = 1.0
_CANCELLED_S = 1.0  # for a handler that was cancelled when the time of the stop was up


class _Source(Protocol):
    """Where messages come from: queues that are shared out, or pops."""

    async def run(self) -> bool: ...

    async def stop(self) -> None: ...


class PushConsumer:
    """Consumes for one group; members of a group share the messages, broadcasting members each get them all.

    async with PushConsumer("billing", nameserver="127.0.0.1:9876") as consumer:
        @consumer.subscribe("orders", tags="new || paid")
        async def handle(message):
            await store(message.body)
        await consumer.run_forever()

    A message is delivered at least once. A handler that raises gets it again later; see `handlers` for the rest.
    """

    def __init__(
        self,
        group: str = "",
        nameserver: str | Sequence[str] | ClientOptions | None = None,
        *,
        orderly: bool = False,
        broadcasting: bool = False,
        pop: bool = False,
        settings: ConsumerSettings | None = None,
        hooks: Sequence[ConsumeHook] = (),
        trace: bool | str = False,
        **connecting: Unpack[Connecting],
    ) -> None:
        if pop and (orderly or broadcasting):
            raise ValueError("pop consumes neither in order nor by broadcasting")
        self.options = ClientOptions.of(nameserver, **connecting)
        self.settings = settings_of(ConsumerSettings, settings)
        self.group = full_group(self.options, group)
        self._orderly, self._broadcasting, self._pop = orderly, broadcasting, pop
        self._hooks: list[ConsumeHook] = checked_hooks(hooks, "before_consume", "after_consume")
        self._trace = checked_trace(trace)
        self._subscriptions: dict[str, Subscription] = {}
        self._handlers: dict[str, Handler] = {}
        self._running: Running | None = None
        self._source: _Source | None = None
        self._ticker: Ticker | None = None
        self._tracer: Tracer | None = None
        self._sender: Sender | None = None
        self._started_ms = 0
        self._stopped = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return describe(self, self.group, self.options, is_started=self._running is not None)

    # -- subscriptions ------------------------------------------------------------------------------------------------

    def subscribe(
        self, topic: str, tags: str = "*", *, sql: str | None = None, batch: int | None = None
    ) -> Callable[[F], F]:
        """Decorates the handler of a topic. With `batch` it gets lists of up to so many messages."""
        check_subscribed(topic)

        def decorate(function: F) -> F:
            self.add_handler(topic, function, tags, sql=sql, batch=batch)
            return function

        return decorate

    def add_handler(
        self, topic: str, function: Callable[..., Any], tags: str = "*", *, sql: str | None = None,
        batch: int | None = None,
    ) -> None:  # fmt: skip
        """As `subscribe`. A topic has one handler; `unsubscribe` makes room for another."""
        full = full_topic(self.options.namespace, topic)
        check_function(function, takes_batch=batch is not None)
        if full in self._handlers:
            raise ValueError(f"topic {topic} has a handler already: {self._handlers[full].function!r}")
        self._subscriptions[full] = Subscription.of(full, tags, sql)
        self._handlers[full] = Handler(function, batch or 1, batch is not None)
        if self._running is not None:
            self._running.tasks.spawn(self._announce(self._subscriptions[full]), f"subscribe {topic}")

    def unsubscribe(self, topic: str) -> None:
        """Let the topic's queues go; another handler may be declared for it."""
        full = with_namespace(self.options.namespace, topic)
        if full not in self._handlers:
            raise ValueError(f"topic {topic} has no handler")
        del self._subscriptions[full], self._handlers[full]
        for queue, process in self._queues().items():
            if queue.topic == full:
                process.drop()  # nothing of it has a handler any more; the rebalance lets it go
        if self._running is not None:
            self._running.instance.heartbeat_soon()
            self.rebalance_soon()

    # -- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Join the group. Raises when a broker does not understand a subscription; an absent cluster is waited for."""
        if self._running is not None:
            return self
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
        self._stopped.clear()
        instance = acquire(self.options, consumer=self.group)
        try:
            self._running = running = await self._build(instance)
            for subscription in list(self._subscriptions.values()):
                await self._check(subscription)
            await instance.join(consumer=self)
        except BaseException:
            self._running = None
            await release(instance, consumer=self.group)
            raise
        self._started_ms = time.time_ns() // 1_000_000
        running.active.set()
        self._launch(running)
        await self._balance()
        return self

    async def stop(self) -> None:
        """Finish what is in hand, commit, and leave the group so that others take over at once.

        A handler that stops its own consumer does not wait for that: it would wait for itself.
        """
        if self._running is not None:
            self._stopping = asyncio.get_running_loop().create_task(self._stop(self._running, self._source))
            self._running = self._source = None
        if self._stopping is not None and handling.get() is not self:
            await asyncio.shield(self._stopping)

    async def run_forever(self, *, signals: bool = True) -> None:
        """Until `stop` is called, the task is cancelled, or SIGTERM or SIGINT comes to the main thread.

        On a signal the consumer is stopped as by `stop`, and the call returns: the program can end as if it had nothing
        more to do. A second signal ends it at once. A handler that the program has set for a signal stays in force;
        `signals=False` leaves both alone.
        """
        if self._running is None and self._stopping is None:
            raise Closed("the consumer is not started: run_forever() belongs into its block, or behind start()")
        loop = asyncio.get_running_loop()
        stopping: list[asyncio.Task[None]] = []
        stop = functools.partial(loop.call_soon_threadsafe, lambda: stopping.append(loop.create_task(self.stop())))
        with on_stop_signal(stop) if signals else nullcontext():
            await self._stopped.wait()
        await asyncio.gather(*stopping)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def assignment(self) -> set[MessageQueue]:
        """The queues this consumer has now, its retry topic's among them."""
        return set(self._queues())

    async def reply(self, request: ReceivedMessage, body: bytes) -> None:
        """Answer a message that was sent with `Producer.request`."""
        if self._sender is None:
            raise Closed("the consumer is not started, or was stopped")
        await request_reply.reply(self._sender, request, body, asyncio.get_running_loop().time() + 3.0)

    def pause(self) -> None:
        """Pull no more for now. What is in hand goes on, and the queues stay ours."""
        self._require().active.clear()

    def resume(self) -> None:
        self._require().active.set()

    # -- the face to the instance -------------------------------------------------------------------------------------

    def topics(self) -> frozenset[str]:
        return frozenset(self._subscriptions)

    def heartbeat(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.BROADCASTING if self._broadcasting else MessageModel.CLUSTERING,
            consume_from_where=_FROM.get(str(self.settings.consume_from), ConsumeFromWhere.CONSUME_FROM_TIMESTAMP),
            subscription_data_set=tuple(subscription.data() for subscription in self._subscriptions.values()),
        )

    def rebalance_soon(self) -> None:
        if self._ticker is not None:
            self._ticker.wake()

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        if isinstance(self._source, Rebalance):
            await self._source.reset(topic, dict(offsets))

    def consumed_offsets(self, topic: str) -> Mapping[MessageQueue, int]:
        running = self._running
        noted = {} if running is None else {queue: running.store.noted(queue) for queue in self._queues()}
        return {queue: offset for queue, offset in noted.items() if offset is not None and queue.topic == topic}

    def running_info(self) -> ConsumerRunningInfo:
        return running_info(self._require(), self._queues(), self._started_ms)

    async def consume_directly(self, message: ReceivedMessage) -> ConsumeMessageDirectlyResult:
        return await consume_directly(self._require(), message)

    # -- inside -----------------------------------------------------------------------------------------------------

    async def _stop(self, running: Running, source: _Source | None) -> None:
        try:
            if source is not None:
                await source.stop()
            if self._tracer is not None:
                await self._tracer.flush()
            await running.tasks.stop(within=_CANCELLED_S)
            await running.instance.leave(consumer=self.group)
        finally:
            running.executor.shutdown(wait=False, cancel_futures=True)
            try:
                await release(running.instance, consumer=self.group)
            finally:
                self._stopped.set()

    async def _build(self, instance: ClientInstance) -> Running:
        if not self._broadcasting and not self._pop:
            self._subscriptions.setdefault(retry_topic(self.group), Subscription(retry_topic(self.group)))
        tasks = BackgroundTasks()
        telemetry = default_hooks()
        hooks: list[ConsumeHook] = [*self._hooks, *telemetry]
        sends: list[SendHook] = [*telemetry]
        if self._trace:
            from sprocketmq.client.producer.trace_sender import tracer_of

            self._tracer = tracer_of(instance, self.group, self._trace)
            tasks.spawn(self._tracer.run(), "message trace")
            hooks.append(self._tracer)
            sends.append(self._tracer)
        self._sender = Sender(instance, INNER_PRODUCER, ProducerSettings(), sends)
        most = self.settings.max_reconsume_times
        tries = MAX_TRIES if most < 0 and not self._orderly else UNLIMITED if most < 0 else most
        plan = RetryPlan(tries, self.settings.suspend if self._orderly else None, self._broadcasting)
        return Running(
            instance, self.group, self.settings, self._orderly, self._broadcasting, self._subscriptions,
            self._handlers, self._store(instance), SendBack(instance, self.group, tries),
            HandlerThreads(self.settings.concurrency, f"consume-{self.group}"),
            tasks, RateLimit(self.settings.rate_limit), plan, hooks, owner=self,
        )  # fmt: skip

    def _launch(self, running: Running) -> None:
        if self._pop:
            self._source = PopConsumption(running)
        else:
            consumption = OrderlyConsumption(running) if self._orderly else ConcurrentConsumption(running)
            consumption.start()
            rebalance = self._source = Rebalance(running, consumption)
            if self._orderly and not self._broadcasting:
                locks = Ticker("lock renewal", self.settings.lock_interval, rebalance.renew_locks)
                running.tasks.spawn(locks.run(), "lock renewal")
        self._ticker = Ticker("rebalance", self.settings.rebalance_interval, self._balance)
        running.tasks.spawn(self._ticker.run(), "rebalance")
        persist = Ticker("offset commit", self.settings.persist_interval, running.store.persist)
        running.tasks.spawn(persist.run(), "offset commit")

    async def _balance(self) -> None:
        if self._source is not None and not await self._source.run() and self._running is not None:
            self._running.tasks.spawn(self._balance_later(), "rebalance soon")

    async def _balance_later(self) -> None:
        await asyncio.sleep(_SOON_S)
        self.rebalance_soon()

    async def _announce(self, subscription: Subscription) -> None:
        """A subscription made while running: the brokers hear of it before the first pull."""
        running = self._require()
        await self._check(subscription)
        await running.instance.heartbeat()
        self.rebalance_soon()

    async def _check(self, subscription: Subscription) -> None:
        instance = self._require().instance
        try:
            await instance.routes.get(subscription.topic)
        except ClientError:
            return  # not there yet: the route refresh will find it
        await check_subscription(instance, self.group, subscription)

    def _store(self, instance: ClientInstance) -> OffsetStore:
        if not self._broadcasting:
            return BrokerOffsets(instance, self.group)
        return FileOffsets(self.settings.offsets_path or default_path(instance.client_id, self.group))

    def _queues(self) -> Mapping[MessageQueue, ProcessQueue]:
        return self._source.queues if isinstance(self._source, Rebalance) else {}

    def _require(self) -> Running:
        if self._running is None:
            raise Closed("the consumer is not started, or was stopped")
        return self._running


_FROM = {
    "last": ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    "first": ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
}
