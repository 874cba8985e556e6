"""What the parts of one running push consumer share."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextvars import ContextVar
from dataclasses import dataclass, field

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.tasks import BackgroundTasks
from sprocketmq.client.cluster.unreadable_records import readable
from sprocketmq.client.push.handlers import Handler, HandlerOutcome
from sprocketmq.client.push.offset_store import OffsetStore
from sprocketmq.client.push.process_queue import ProcessQueue
from sprocketmq.client.push.rate import RateLimit
from sprocketmq.client.push.retries import RetryPlan, SendBack
from sprocketmq.client.push.stats import ConsumeCounters
from sprocketmq.client.received import ReceivedMessage, inside
from sprocketmq.client.settings import ConsumerSettings
from sprocketmq.client.subscription import Subscription
from sprocketmq.client.telemetry.hooks import ConsumeContext, ConsumeHook, run_hooks
from sprocketmq.protocol.message_queue import MessageQueue

log = logging.getLogger("sprocketmq.client.push.handlers")


#: The consumer whose handler the code runs in, on the loop or on a thread.
handling: ContextVar[object] = ContextVar("handling", default=None)


@dataclass(slots=True)
class Running:
    """One started consumer. `subscriptions` and `handlers` are keyed by the topic's full name."""

    instance: ClientInstance
    group: str
    settings: ConsumerSettings
    orderly: bool
    broadcasting: bool
    subscriptions: Mapping[str, Subscription]
    handlers: Mapping[str, Handler]
    store: OffsetStore
    send_back: SendBack
    executor: Executor
    tasks: BackgroundTasks
    rate: RateLimit
    retry: RetryPlan
    hooks: Sequence[ConsumeHook] = ()
    owner: object = None
    active: asyncio.Event = field(default_factory=asyncio.Event)  # cleared while the consumer is paused
    stats: ConsumeCounters = field(default_factory=ConsumeCounters)

    def handler_of(self, message: ReceivedMessage) -> Handler | None:
        """By the topic its sender named: a retried message goes to the handler it failed in."""
        if len(self.handlers) == 1:
            return next(iter(self.handlers.values()))
        return self.handlers.get(message.full_topic) or self.handlers.get(message.stored_topic)

    def batch_of(self, queue: MessageQueue) -> int:
        """How many of the queue's messages one call takes. A retry queue mixes topics, so it may mix handlers."""
        if len(self.handlers) == 1:
            return next(iter(self.handlers.values())).batch_size
        handler = self.handlers.get(queue.topic)
        return 1 if handler is None else handler.batch_size

    async def consume(self, messages: Sequence[ReceivedMessage], queue: MessageQueue) -> HandlerOutcome:
        """Call the handler, with hooks around it."""
        await self.rate.take(len(messages))
        inside(self.instance.options.namespace, messages)
        handler = self.handler_of(messages[0])
        if handler is None:
            return HandlerOutcome("retry")
        context = self._begin(messages, queue)
        started = time.perf_counter()
        token = handling.set(self.owner)
        try:
            outcome = await handler.run(messages, self.executor, self.settings.consume_timeout)
        finally:
            handling.reset(token)
        if outcome.reason in ("exception", "timeout"):
            self._tell(messages, outcome)
        self.stats.consumed(queue.topic, len(messages), time.perf_counter() - started, ok=outcome.ok)
        if context is not None:
            context.result, context.error, context.ended = outcome.reason, outcome.error, time.time()
            run_hooks([hook.after_consume for hook in self.hooks], context)
        return outcome

    def _tell(self, messages: Sequence[ReceivedMessage], outcome: HandlerOutcome) -> None:
        """A failed handler, with all that is needed to find its messages and to know what becomes of them."""
        what = "failed" if outcome.reason == "exception" else f"took longer than {self.settings.consume_timeout:g} s"
        for message in messages:
            tries, after = self.retry.outlook(message, outcome.level)
            log.warning(
                "handler %s group=%s topic=%s queue=%s offset=%d message=%s keys=%s try=%s next=%s",
                what, self.group, message.topic, message.queue, message.queue_offset, message.message_id,
                ",".join(message.keys) or "-", tries, after,
                exc_info=outcome.error if outcome.reason == "exception" and message is messages[0] else None,
            )  # fmt: skip

    def take(self, queue: ProcessQueue, limit: int) -> list[ReceivedMessage]:
        """Up to `limit` waiting messages that can be read; the others need no further try."""
        taken = queue.take(limit)
        kept = readable(taken, queue.queue)
        if len(kept) < len(taken):
            self.settle(queue, [message for message in taken if message not in kept])
        return kept

    def settle(self, queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        """Consumed or returned: note how far the queue is."""
        offset = queue.settle(messages)
        if offset is not None and not queue.abandoned:
            self.store.note(queue.queue, offset)

    def _begin(self, messages: Sequence[ReceivedMessage], queue: MessageQueue) -> ConsumeContext | None:
        if not self.hooks:
            return None
        context = ConsumeContext(self.group, messages[0].topic, messages, queue)
        run_hooks([hook.before_consume for hook in self.hooks], context)
        return context
