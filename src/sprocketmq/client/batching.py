# cython: annotation_typing=False
"""Automatic batching: many small sends become few requests, and each message still has its own future.

    open batch  -> ready -> on its way -> receipts
A topic has one open batch for messages that may go to any queue, and one per queue for those with a sharding key.
A batch closes when it is full or `linger` old. At most one batch per queue is on its way, so a queue holds its messages
in the order they were submitted, also after a retry. Hooks see each message as a send of its own, from its submission
to its receipt.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from sprocketmq.client.accumulator import Accumulator
from sprocketmq.client.errors import ClientError, Closed, Overloaded
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.outgoing import Encoder, Outgoing
from sprocketmq.client.routes import Route
from sprocketmq.client.selectors import by_sharding_key
from sprocketmq.client.sending import Sender
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.tasks import BackgroundTasks
from sprocketmq.protocol.message_queue import MessageQueue

ReceiptFuture = asyncio.Future[SendReceipt]


class _Batch:
    """Messages of one topic that travel together; `queue` is None when any will do."""

    __slots__ = ("content", "deadline", "queue", "timer")

    def __init__(self, deadline: float, queue: MessageQueue | None, content: Accumulator) -> None:
        self.deadline = deadline
        self.queue = queue
        self.content = content
        self.timer: asyncio.Handle | None = None


class _Topic:
    __slots__ = ("busy", "name", "open", "ready", "route", "unrouted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.route: Route | None = None
        self.open: dict[MessageQueue | None, _Batch] = {}
        self.ready: deque[_Batch] = deque()
        self.busy: set[MessageQueue] = set()
        self.unrouted: list[tuple[Message, ReceiptFuture, str]] = []


class Batcher:
    """The batches of one producer. `submit` never waits; `room` does."""

    def __init__(
        self, sender: Sender, encoder: Encoder, settings: ProducerSettings,
        send_alone: Callable[[Message], ReceiptFuture],
    ) -> None:  # fmt: skip
        self._sender = sender
        self._encoder = encoder
        self._settings = settings
        self._limits = settings.batching
        self._batch_messages = self._limits.max_messages
        self._batch_bytes = self._limits.max_bytes
        self._most_messages = self._limits.buffer_messages
        self._most_bytes = self._limits.buffer_bytes
        self._alone_over = settings.compress_over
        self._max_message_bytes = settings.max_message_bytes
        self._send_alone = send_alone
        self._is_observed = sender.is_observed
        self._loop = asyncio.get_running_loop()
        self._topics: dict[str, _Topic] = {}
        self._tasks = BackgroundTasks()
        self._idle = asyncio.Event()
        self._idle.set()
        self._roomy = asyncio.Event()
        self._roomy.set()
        self._count = 0
        self._bytes = 0
        self._closed = False

    @property
    def is_full(self) -> bool:
        return self._count >= self._most_messages or self._bytes >= self._most_bytes

    def submit(self, message: Message) -> ReceiptFuture:
        """The future of the message's receipt. Raises Overloaded when the buffer is full."""
        if self._closed:
            raise Closed("the producer was stopped")
        if self._count >= self._most_messages or self._bytes >= self._most_bytes:
            raise Overloaded(f"{self._count} messages wait to be sent")
        size = len(message.body)
        if size >= self._alone_over or message._is_delayed():
            return self._send_alone(message)  # brokers take neither in a batch
        message.validate(self._max_message_bytes)
        future: ReceiptFuture = self._loop.create_future()
        topic = self._topics.get(message.topic)
        if topic is None:
            topic = self._open_topic(message.topic)
        self._count += 1
        self._bytes += size
        extra = self._observe(message, future) if self._is_observed else ""
        if message.sharding_key is None:
            self._add(topic, None, message, future, extra)
        elif topic.route is not None:
            self._add(topic, by_sharding_key(message, topic.route.write_queues), message, future, extra)
        else:
            topic.unrouted.append((message, future, extra))
        return future

    async def room(self) -> None:
        """Wait until the buffer takes more, no longer than a delivery may take."""
        if not self.is_full:
            return
        self._roomy.clear()
        try:
            async with asyncio.timeout(self._limits.delivery_timeout):
                await self._roomy.wait()
        except TimeoutError:
            raise Overloaded(f"{self._count} messages wait, and none left in time") from None

    async def flush(self) -> None:
        """Send what waits now and come back when all of it has a receipt or an error."""
        for topic in self._topics.values():
            for batch in list(topic.open.values()):
                self._close(topic, batch)
        if self._count:
            self._idle.clear()
            await self._idle.wait()

    async def stop(self) -> None:
        self._closed = True
        await self.flush()
        await self._tasks.stop()

    def _observe(self, message: Message, future: ReceiptFuture) -> str:
        """Tell the hooks; returns the properties they want to travel with the message."""
        context = self._sender.begin(message.topic, (message,), "normal" if message.sharding_key is None else "order")

        def settled(done: ReceiptFuture) -> None:
            error = Closed("cancelled") if done.cancelled() else done.exception()
            self._sender.end(context, None if error else done.result(), error)

        future.add_done_callback(settled)
        return "" if context is None else self._encoder.property_text(context.properties)

    # -- building ---------------------------------------------------------------------------------------------------

    def _open_topic(self, name: str) -> _Topic:
        topic = self._topics[name] = _Topic(self._encoder.topic(name))
        self._tasks.spawn(self._find_route(topic), f"route of {name}")
        return topic

    async def _find_route(self, topic: _Topic) -> None:
        deadline = self._loop.time() + self._settings.send_timeout
        try:
            topic.route = await self._sender.route(topic.name, deadline)
        except ClientError as error:
            self._give_up(topic, error)
            return
        for message, future, extra in topic.unrouted:
            self._add(topic, by_sharding_key(message, topic.route.write_queues), message, future, extra)
        topic.unrouted.clear()
        self._pump(topic)

    def _give_up(self, topic: _Topic, error: ClientError) -> None:
        """No route: everything that waits for it fails, and the next message asks anew."""
        self._topics = {name: kept for name, kept in self._topics.items() if kept is not topic}
        for message, future, _ in topic.unrouted:
            self._fail([future], error, len(message.body))
        for batch in (*topic.ready, *topic.open.values()):
            if batch.timer is not None:
                batch.timer.cancel()
            self._fail(batch.content.futures, error, batch.content.body_bytes)

    def _add(
        self, topic: _Topic, queue: MessageQueue | None, message: Message, future: ReceiptFuture, extra: str
    ) -> None:
        batch = topic.open.get(queue)
        if batch is None:
            batch = _Batch(self._loop.time() + self._limits.delivery_timeout, queue, self._encoder.accumulator())
            topic.open[queue] = batch
            batch.timer = self._loop.call_later(self._limits.linger, self._close, topic, batch)
        content = batch.content
        content.add(message, future, extra)
        if content.size >= self._batch_bytes or len(content.futures) >= self._batch_messages:
            self._close(topic, batch)

    def _close(self, topic: _Topic, batch: _Batch) -> None:
        if topic.open.get(batch.queue) is not batch:
            return
        del topic.open[batch.queue]
        if batch.timer is not None:
            batch.timer.cancel()
        topic.ready.append(batch)
        self._pump(topic)

    # -- sending ----------------------------------------------------------------------------------------------------

    def _pump(self, topic: _Topic) -> None:
        """Send every ready batch whose queue is free, oldest first."""
        if topic.route is None or not topic.ready:
            return
        free = [queue for queue in topic.route.write_queues if queue not in topic.busy]
        held: deque[_Batch] = deque()
        passed: set[MessageQueue] = set()  # a later batch must not overtake one that is held for its queue
        while topic.ready:
            batch = topic.ready.popleft()
            queue = batch.queue or (self._sender.next_queue(topic.name, free) if free else None)
            if queue is None or queue in topic.busy or queue in passed:
                held.append(batch)
                passed.update(() if queue is None else (queue,))
                continue
            topic.busy.add(queue)
            if queue in free:
                free.remove(queue)
            self._tasks.spawn(self._send(topic, batch, queue), f"batch to {queue}")
        topic.ready = held

    async def _send(self, topic: _Topic, batch: _Batch, queue: MessageQueue) -> None:
        content = batch.content
        try:
            receipt = await self._deliver(self._encoder.batch(topic.name, content), topic, batch, queue)
        except ClientError as error:
            self._fail(content.futures, error, content.body_bytes)
        except asyncio.CancelledError:
            self._fail(content.futures, Closed("the producer was stopped"), content.body_bytes)
            raise
        else:
            content.settle(receipt)
            self._release(len(content.futures), content.body_bytes)
        finally:
            topic.busy.discard(queue)
            topic.route = self._sender.instance.routes.known(topic.name) or topic.route
            self._pump(topic)

    async def _deliver(self, outgoing: Outgoing, topic: _Topic, batch: _Batch, queue: MessageQueue) -> SendReceipt:
        """To its queue until the deadline when it belongs there; otherwise elsewhere when its first queue fails."""
        if batch.queue is not None:
            return await self._sender.insist(outgoing, batch.deadline, queue)
        assert topic.route is not None
        try:
            first = min(batch.deadline, self._sender.deadline())
            return await self._sender.attempt(outgoing, topic.route, queue, first)
        except ClientError as error:
            if not error.retriable or self._loop.time() >= batch.deadline:
                raise
        return await self._sender.send(outgoing, batch.deadline)

    def _fail(self, futures: list[ReceiptFuture], error: ClientError, size: int) -> None:
        for future in futures:
            if not future.done():
                future.set_exception(error)
        self._release(len(futures), size)

    def _release(self, count: int, size: int) -> None:
        self._count -= count
        self._bytes -= size
        if not self.is_full:
            self._roomy.set()
        if self._count == 0:
            self._idle.set()
