"""The push consumer for code without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import nullcontext
from typing import Any, Unpack

from sprocketmq.client.names import full_group, full_topic
from sprocketmq.client.options import ClientOptions, Connecting
from sprocketmq.client.push.consumer import F
from sprocketmq.client.push.consumer import PushConsumer as AsyncPushConsumer
from sprocketmq.client.push.handlers import check_function, check_subscribed
from sprocketmq.client.push.stop_signals import on_stop_signal
from sprocketmq.client.settings import ConsumerSettings
from sprocketmq.client.subscription import Subscription
from sprocketmq.client.sync import loop_thread
from sprocketmq.client.sync.facade import Facade, blocking
from sprocketmq.client.telemetry.hooks import ConsumeHook
from sprocketmq.protocol.message_queue import MessageQueue

_WAKE_S = 1.0


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
        Subscription.of(topic, tags, sql)
        if any(topic == other for other, *_ in self._handlers):
            raise ValueError(f"topic {topic} has a handler already")
        self._handlers.append((topic, function, tags, sql, batch))
        if self._wanted:
            self._on_loop(lambda client: client.add_handler(topic, function, tags, sql=sql, batch=batch))

    def unsubscribe(self, topic: str) -> None:
        """Let the topic's queues go; another handler may be declared for it."""
        left = [each for each in self._handlers if each[0] != topic]
        if len(left) == len(self._handlers):
            raise ValueError(f"topic {topic} has no handler")
        self._handlers = left
        if self._wanted:
            self._on_loop(lambda client: client.unsubscribe(topic))

    def pause(self) -> None:
        """Pull no more for now. What is in hand goes on, and the queues stay ours."""
        self._on_loop(lambda client: client.pause())

    def resume(self) -> None:
        self._on_loop(lambda client: client.resume())

    def run_forever(self, *, signals: bool = True) -> None:
        """Until `stop` is called, or SIGTERM or SIGINT comes to the main thread; see the asyncio PushConsumer."""
        client, loop = self._client or self._stopped or self._started(), loop_thread.loop_thread()
        running = loop.submit(client.run_forever(signals=False))
        with on_stop_signal(lambda: loop.submit_soon(client.stop)) if signals else nullcontext():
            try:
                while not running.done():
                    wait([running], _WAKE_S)  # one without a limit cannot be interrupted everywhere
            except BaseException:
                running.cancel()
                raise
        running.result()

    def _on_loop(self, call: Callable[[AsyncPushConsumer], None]) -> None:
        client = self._started()

        async def run() -> None:
            call(client)

        self._run(run())

    reply = blocking(AsyncPushConsumer.reply)

    def assignment(self) -> set[MessageQueue]:
        return self._started().assignment()
