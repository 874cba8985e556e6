"""The client for code without an event loop: the same names, the same arguments, and calls that wait.

    with Producer("orders-service", nameserver="127.0.0.1:9876") as producer:
        receipt = producer.send(Message("orders", b"one apple"))

Every object may be shared by threads. One that was made before a fork (gunicorn with preload, multiprocessing) works in
the child as well: it connects anew there, under a client id of its own.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack
from weakref import WeakSet

from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.names import full_group, full_topic
from sprocketmq.client.options import ClientOptions, Connecting, describe
from sprocketmq.client.producer.producer import Producer as AsyncProducer
from sprocketmq.client.producer.transactions import TransactionCheck
from sprocketmq.client.pull.consumer import PullConsumer as AsyncPullConsumer
from sprocketmq.client.push.consumer import F
from sprocketmq.client.push.consumer import PushConsumer as AsyncPushConsumer
from sprocketmq.client.push.handlers import check_function, check_subscribed
from sprocketmq.client.push.stop_signals import on_stop_signal
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import ConsumerSettings, ProducerSettings, PullSettings
from sprocketmq.client.sync import loop_thread
from sprocketmq.client.sync.submit_queue import Feed
from sprocketmq.client.telemetry.hooks import ConsumeHook, SendHook
from sprocketmq.protocol.message_queue import MessageQueue

A = TypeVar("A", bound="Startable")
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_WAKE_S = 1.0


class Startable(Protocol):
    async def start(self) -> Any: ...

    async def stop(self) -> None: ...


class Facade(Generic[A]):
    """Keeps an asyncio client on the loop thread and makes it again after a fork."""

    def __init__(self, make: Callable[[], A], options: ClientOptions, group: str = "") -> None:
        self._make, self._options, self._group = make, options, group
        self._wanted = False
        self._forget()
        _facades.add(self)

    def __repr__(self) -> str:
        return describe(self, self._group, self._options, is_started=self._client is not None)

    def _forget(self) -> None:
        """No client yet; in a forked child no more, for its loop stayed with the parent."""
        self._client: A | None = None
        self._lock = threading.Lock()

    def start(self) -> Self:
        self._wanted = True
        self._started()
        return self

    def stop(self) -> None:
        self._end(lambda client: client.stop())

    def _end(self, stop: Callable[[A], Coroutine[Any, Any, None]]) -> None:
        self._wanted = False
        client, self._client = self._client, None
        if client is not None:
            loop_thread.loop_thread().run(stop(client))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _started(self) -> A:
        """The running client, made when there is none."""
        with self._lock:
            if self._client is None:
                self._client = loop_thread.loop_thread().run(self._create())
            return self._client

    async def _create(self) -> A:
        client = self._make()
        if self._wanted:
            await client.start()
        return client

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return loop_thread.loop_thread().run(work)

    def _iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        async def step() -> T | None:
            return await anext(source, None)

        while (item := self._run(step())) is not None:
            yield item


#: A child has one thread when it begins, so that all of them can forget their clients there.
_facades: WeakSet[Facade[Any]] = WeakSet()


def _after_fork() -> None:
    for facade in list(_facades):
        facade._forget()


if hasattr(os, "register_at_fork"):  # not where there are no forks
    os.register_at_fork(after_in_child=_after_fork)


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Facade[A], P], R]:
    """The same method, waiting."""

    @functools.wraps(method)
    def call(facade: Facade[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        client = facade._started()
        return facade._run(method(client, *args, **kwargs))

    return call


class Producer(Facade[AsyncProducer]):
    """Sends messages for one producer group; see the asyncio Producer."""

    def __init__(
        self,
        group: str = "",
        nameserver: str | Sequence[str] | ClientOptions | None = None,
        *,
        settings: ProducerSettings | None = None,
        check: TransactionCheck | None = None,
        hooks: Sequence[SendHook] = (),
        trace: bool | str = False,
        **connecting: Unpack[Connecting],
    ) -> None:
        options = ClientOptions.of(nameserver, **connecting)
        group = full_group(options, group)
        self._fed: Feed | None = None
        super().__init__(
            lambda: AsyncProducer(group, options, settings=settings, check=check, hooks=hooks, trace=trace),
            options,
            group,
        )

    send = blocking(AsyncProducer.send)
    send_oneway = blocking(AsyncProducer.send_oneway)
    send_batch = blocking(AsyncProducer.send_batch)
    send_in_transaction = blocking(AsyncProducer.send_in_transaction)
    send_half = blocking(AsyncProducer.send_half)
    end_transaction = blocking(AsyncProducer.end_transaction)
    request = blocking(AsyncProducer.request)
    reply = blocking(AsyncProducer.reply)
    queues = blocking(AsyncProducer.queues)

    def submit(self, message: Message) -> Future[SendReceipt]:
        """Hand a message to automatic batching; waits only while the buffer is full."""
        return self._feed(self._started()).put(message)

    def flush(self) -> None:
        """Wait until every submitted message has its receipt or its error."""
        self._run(self._feed(self._started()).flush())

    def stop(self) -> None:
        """Send what waits, say goodbye to the brokers, and close."""
        if self._client is not None:
            self.flush()
        super().stop()

    def _feed(self, client: AsyncProducer) -> Feed:
        with self._lock:
            if self._fed is None or self._fed.producer is not client:
                self._fed = Feed(client)
            return self._fed


class PushConsumer(Facade[AsyncPushConsumer]):
    """Calls handlers on threads; see the asyncio PushConsumer."""

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
        options = ClientOptions.of(nameserver, **connecting)
        group = full_group(options, group)
        self._handlers: list[tuple[str, Callable[..., Any], str, str | None, int | None]] = []

        def make() -> AsyncPushConsumer:
            consumer = AsyncPushConsumer(
                group, options, orderly=orderly, broadcasting=broadcasting, pop=pop, settings=settings, hooks=hooks,
                trace=trace,
            )  # fmt: skip
            for topic, function, tags, sql, batch in self._handlers:
                consumer.add_handler(topic, function, tags, sql=sql, batch=batch)
            return consumer

        super().__init__(make, options, group)

    def subscribe(
        self, topic: str, tags: str = "*", *, sql: str | None = None, batch: int | None = None
    ) -> Callable[[F], F]:
        """Decorates the handler of a topic, before the consumer is started or after."""
        check_subscribed(topic)

        def decorate(function: F) -> F:
            self.add_handler(topic, function, tags, sql=sql, batch=batch)
            return function

        return decorate

    def add_handler(
        self, topic: str, function: Callable[..., Any], tags: str = "*", *, sql: str | None = None,
        batch: int | None = None,
    ) -> None:  # fmt: skip
        """As `subscribe`. A topic has one handler."""
        full_topic(self._options.namespace, topic)
        check_function(function, takes_batch=batch is not None)
        if any(topic == other for other, *_ in self._handlers):
            raise ValueError(f"topic {topic} has a handler already")
        self._handlers.append((topic, function, tags, sql, batch))
        if self._wanted:
            client = self._started()

            async def add() -> None:
                client.add_handler(topic, function, tags, sql=sql, batch=batch)

            self._run(add())

    def run_forever(self, *, signals: bool = True) -> None:
        """Until `stop` is called, or SIGTERM or SIGINT comes to the main thread; see the asyncio PushConsumer."""
        client, loop = self._started(), loop_thread.loop_thread()
        running = loop.submit(client.run_forever(signals=False))
        with on_stop_signal(lambda: loop.submit_soon(client.stop)) if signals else nullcontext():
            try:
                while not running.done():
                    wait([running], _WAKE_S)  # one without a limit cannot be interrupted everywhere
            except BaseException:
                running.cancel()
                raise
        running.result()

    reply = blocking(AsyncPushConsumer.reply)

    def assignment(self) -> set[MessageQueue]:
        return self._started().assignment()


class PullConsumer(Facade[AsyncPullConsumer]):
    """Reads when asked; see the asyncio PullConsumer."""

    def __init__(
        self,
        group: str = "",
        nameserver: str | Sequence[str] | ClientOptions | None = None,
        *,
        settings: PullSettings | None = None,
        **connecting: Unpack[Connecting],
    ) -> None:
        options = ClientOptions.of(nameserver, **connecting)
        group = full_group(options, group)
        super().__init__(lambda: AsyncPullConsumer(group, options, settings=settings), options, group)

    subscribe = blocking(AsyncPullConsumer.subscribe)
    assign = blocking(AsyncPullConsumer.assign)
    queues = blocking(AsyncPullConsumer.queues)
    seek = blocking(AsyncPullConsumer.seek)
    seek_to_begin = blocking(AsyncPullConsumer.seek_to_begin)
    seek_to_end = blocking(AsyncPullConsumer.seek_to_end)
    seek_to_time = blocking(AsyncPullConsumer.seek_to_time)
    poll = blocking(AsyncPullConsumer.poll)
    commit = blocking(AsyncPullConsumer.commit)
    committed = blocking(AsyncPullConsumer.committed)
    begin_offset = blocking(AsyncPullConsumer.begin_offset)
    end_offset = blocking(AsyncPullConsumer.end_offset)
    offset_at = blocking(AsyncPullConsumer.offset_at)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(commit=error is None)

    def stop(self, *, commit: bool = True) -> None:
        """Stop fetching, and commit what was read so far."""
        self._end(lambda client: client.stop(commit=commit))

    def assignment(self) -> set[MessageQueue]:
        return self._started().assignment()

    def position(self, queue: MessageQueue) -> int:
        return self._started().position(queue)

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        self._started().pause(queues)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        client = self._started()

        async def resume() -> None:
            client.resume(queues)

        self._run(resume())

    def __iter__(self) -> Iterator[ReceivedMessage]:
        return self._iterate(aiter(self._started()))

    def batches(self, max_messages: int = 1024) -> Iterator[list[ReceivedMessage]]:
        return self._iterate(self._started().batches(max_messages))

    def read_range(self, queue: MessageQueue, begin: int, end: int) -> Iterator[list[ReceivedMessage]]:
        return self._iterate(self._started().read_range(queue, begin, end))
