# cython: annotation_typing=False
"""Automatic batching: many small sends become few requests, and each message still has its own future.

    open batch  -> ready -> on its way -> receipts
A topic has one open batch for messages that may go to any queue, and one per queue for those with a sharding key.
A batch closes when it is full or `linger` old, and is written at once when its queue is free, so that the broker stores
it while the next one grows. At most one batch per queue is on its way, so a queue holds its messages in the order they
were submitted, also after a retry. Hooks see each message as a send of its own, from its submission to its receipt.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Callable, Iterator

from sprocketmq.client.arguments import not_a_message
from sprocketmq.client.cluster.route import Route
from sprocketmq.client.cluster.tasks import BackgroundTasks
from sprocketmq.client.errors import ClientError, Closed, InvalidMessage, Overloaded
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.producer.accumulator import MAX_MESSAGES, Accumulator
from sprocketmq.client.producer.delivery import ClosedBatch, Delivery
from sprocketmq.client.producer.encoder import Encoder, property_text
from sprocketmq.client.producer.queue_selectors import by_sharding_key
from sprocketmq.client.producer.receipts import BatchOutcome, ReceiptFuture, future_of
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.send_frame import Payload

log = logging.getLogger("sprocketmq.client.producer.batcher")


class _Batch:
    """Messages of one topic that travel together; `queue` is None when any will do.

    A message that no batch takes, but that has its place in a queue, is a `single` request in place of `content`.
    """

    __slots__ = ("content", "deadline", "outcome", "queue", "single", "single_bytes", "timer")

    def __init__(
        self, deadline: float, queue: MessageQueue | None, content: Accumulator, outcome: BatchOutcome
    ) -> None:
        self.deadline = deadline
        self.queue = queue
        self.content = content
        self.outcome = outcome
        self.single: Payload | None = None
        self.single_bytes = 0
        self.timer: asyncio.Handle | None = None


class _Topic:
    __slots__ = ("busy", "name", "open", "ready", "route", "unrouted")

    def __init__(self, name: str) -> None:
        self.name = name
        self.route: Route | None = None
        self.open: dict[MessageQueue | None, _Batch] = {}
        self.ready: deque[_Batch] = deque()
        self.busy: set[MessageQueue] = set()
        self.unrouted: list[tuple[Message, ReceiptFuture, str]] = []  # they need a route to know their queue


class Batcher:
    """The batches of one producer. `submit` never waits; `room` does."""

    def __init__(
        self, sender: Sender, encoder: Encoder, settings: ProducerSettings,
        send_alone: Callable[[Message], asyncio.Future[SendReceipt]],
    ) -> None:  # fmt: skip
        self._sender = sender
        self._encoder = encoder
        self._settings = settings
        self._limits = settings.batching
        self._batch_messages = min(self._limits.max_messages, MAX_MESSAGES)
        self._batch_bytes = self._limits.max_bytes
        self._most_messages = self._limits.buffer_messages
        self._most_bytes = self._limits.buffer_bytes
        self._alone_over = settings.compress_over
        self._max_message_bytes = settings.max_message_bytes
        self._send_alone = send_alone
        self._is_observed = sender.is_observed
        self._loop = asyncio.get_running_loop()
        self._topics: dict[str, _Topic] = {}
        self._delivery = Delivery(sender)
        self._tasks = BackgroundTasks()
        self._idle = asyncio.Event()
        self._idle.set()
        self._roomy = asyncio.Event()
        self._roomy.set()
        self._count = 0
        self._bytes = 0
        self._closed = False  # nothing is taken any more, but what was taken goes out

    def __del__(self) -> None:
        if self._count and not self._closed:  # the program's loop has ended, and with it all that would have sent them
            log.error(
                "%d submitted messages were lost: the event loop ended before the producer was stopped; "
                "use `async with`, or `await producer.stop()`", self._count,
            )  # fmt: skip

    @property
    def is_full(self) -> bool:
        return self._count >= self._most_messages or self._bytes >= self._most_bytes

    def submit(self, given: Message) -> ReceiptFuture:
        """The future of the message's receipt. Raises Overloaded when the buffer is full."""
        if not isinstance(given, Message):
            raise not_a_message(given)
        message = given  # compiled, now of its C type: what follows are fields of a struct
        if self._closed:
            raise Closed("the producer was stopped")
        if self._count >= self._most_messages or self._bytes >= self._most_bytes:
            raise Overloaded(f"{self._count} messages wait to be sent")
        message.validate(self._max_message_bytes)
        if message._is_delayed() or (message.sharding_key is None and len(message.body) >= self._alone_over):
            return self._submit_alone(message)  # brokers take neither in a batch
        topic = self._topics.get(message.topic)
        if topic is None:
            topic = self._open_topic(message.topic)
        if self._is_observed:
            return self._submit_observed(topic, message)
        if message.sharding_key is None:
            return self._add(topic, None, message, "", None)
        return self._add_keyed(topic, message, "", None)

    def submit_some(self, messages: Iterator[Message], futures: list[ReceiptFuture]) -> bool:
        """Submit until the buffer is full; False when there was room for all of them."""
        for message in messages:
            futures.append(self.submit(message))
            if self._count >= self._most_messages or self._bytes >= self._most_bytes:
                return True
        return False

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
        await self._delivery.stop()

    def _submit_alone(self, message: Message) -> ReceiptFuture:
        """It waits in the buffer as those in batches do: whoever flushes or stops waits for its receipt too."""
        outcome, size = BatchOutcome(self._loop), len(message.body)
        self._count += 1
        self._bytes += size

        def settled(done: asyncio.Future[SendReceipt]) -> None:
            if done.cancelled():
                outcome.fail(Closed("the producer was stopped"))
            elif (error := done.exception()) is not None:
                outcome.fail(error)
            else:
                outcome.settle_alone(done.result())
            self._release(1, size)

        self._send_alone(message).add_done_callback(settled)
        return future_of(outcome, 0)

    def _submit_observed(self, topic: _Topic, message: Message) -> ReceiptFuture:
        """Tell the hooks, and let the properties that they add travel with the message."""
        kind = "normal" if message.sharding_key is None else "order"
        hooks = self._sender.hooks
        context = hooks.begin(message.topic, (message,), kind)

        def settled(done: ReceiptFuture) -> None:
            error = Closed("cancelled") if done.cancelled() else done.exception()
            hooks.end(context, None if error else done.result(), error)

        try:
            future = self._add_keyed(topic, message, property_text(context.properties), None)
        except BaseException as error:
            hooks.end(context, error=error)
            raise
        future.add_done_callback(settled)
        return future

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
        except Exception as error:  # a defect of ours, or of a hook's: nobody waits for ever because of it
            self._give_up(topic, error)
            raise
        unrouted, topic.unrouted = topic.unrouted, []
        for message, future, extra in unrouted:
            try:
                self._add_keyed(topic, message, extra, future)
            except InvalidMessage as error:
                future._fail(error)
            self._release(1, len(message.body))  # it is counted again where it is now
        self._pump(topic)

    def _give_up(self, topic: _Topic, error: BaseException) -> None:
        """No route: everything that waits for it fails, and the next message asks anew."""
        self._topics = {name: kept for name, kept in self._topics.items() if kept is not topic}
        for message, future, _ in topic.unrouted:
            future._fail(error)
            self._release(1, len(message.body))
        for batch in (*topic.ready, *topic.open.values()):
            if batch.timer is not None:
                batch.timer.cancel()
            self._fail(batch, error)

    def _add_keyed(self, topic: _Topic, message: Message, extra: str, future: ReceiptFuture | None) -> ReceiptFuture:
        """To the queue of its key; it waits while there is no route to tell which one that is."""
        if message.sharding_key is None:
            return self._add(topic, None, message, extra, future)
        if topic.route is not None:
            return self._add(topic, by_sharding_key(message, topic.route.write_queues), message, extra, future)
        waiting = future_of(BatchOutcome(self._loop), 0)
        topic.unrouted.append((message, waiting, extra))
        self._count += 1
        self._bytes += len(message.body)
        return waiting

    def _add(
        self, topic: _Topic, queue: MessageQueue | None, message: Message, extra: str, future: ReceiptFuture | None
    ) -> ReceiptFuture:
        """To the open batch of that queue; `future` is that of a message which has waited."""
        if len(message.body) >= self._alone_over:
            return self._add_single(topic, queue, message, extra, future)
        batch = topic.open.get(queue)
        if batch is None:
            batch = self._open_batch(topic, queue)
        content = batch.content
        index, size = content.count, content.body_bytes
        content.add(message, extra)
        self._count += 1
        self._bytes += content.body_bytes - size
        if future is None:
            future = future_of(batch.outcome, index)
        else:
            future._join(batch.outcome, index)
        if content.size >= self._batch_bytes or content.count >= self._batch_messages:
            self._close(topic, batch)
        return future

    def _add_single(
        self, topic: _Topic, queue: MessageQueue | None, message: Message, extra: str, future: ReceiptFuture | None
    ) -> ReceiptFuture:
        """In its place behind what its queue was given before, and ahead of what comes after."""
        payload = self._encoder.single(message, extra)
        before = topic.open.get(queue)
        if before is not None:
            self._close(topic, before)
        batch = self._open_batch(topic, queue)
        batch.single, batch.single_bytes = payload, len(message.body)
        self._count += 1
        self._bytes += batch.single_bytes
        if future is None:
            future = future_of(batch.outcome, 0)
        else:
            future._join(batch.outcome, 0)
        self._close(topic, batch)
        return future

    def _open_batch(self, topic: _Topic, queue: MessageQueue | None) -> _Batch:
        deadline = self._loop.time() + self._limits.delivery_timeout
        batch = topic.open[queue] = _Batch(deadline, queue, self._encoder.accumulator(), BatchOutcome(self._loop))
        batch.timer = self._loop.call_later(self._limits.linger, self._close, topic, batch)
        return batch

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
            queue = batch.queue or (self._sender.next_queue(topic.route, free) if free else None)
            if queue is None or queue in topic.busy or queue in passed:
                held.append(batch)
                passed.update(() if queue is None else (queue,))
                continue
            topic.busy.add(queue)
            if queue in free:
                free.remove(queue)
            done = functools.partial(self._delivered, topic, batch, queue)
            payload = batch.single or self._encoder.batch(queue.topic, batch.content.close())
            is_bound = batch.queue is not None
            self._delivery.start(ClosedBatch(payload, topic.route, queue, is_bound, batch.deadline, done))
        topic.ready = held

    def _delivered(
        self, topic: _Topic, batch: _Batch, queue: MessageQueue, outcome: SendReceipt | BaseException
    ) -> None:
        if isinstance(outcome, BaseException):
            self._fail(batch, outcome)
        elif batch.single is not None:
            batch.outcome.settle_alone(outcome)
            self._release(1, batch.single_bytes)
        else:
            batch.outcome.settle(batch.content.receipts(outcome))
            self._release(batch.content.count, batch.content.body_bytes)
        topic.busy.discard(queue)
        topic.route = self._sender.instance.routes.known(topic.name) or topic.route
        self._pump(topic)

    def _fail(self, batch: _Batch, error: BaseException) -> None:
        batch.outcome.fail(error)
        if batch.single is not None:
            self._release(1, batch.single_bytes)
        else:
            self._release(batch.content.count, batch.content.body_bytes)

    def _release(self, count: int, size: int) -> None:
        self._count -= count
        self._bytes -= size
        if not self.is_full:
            self._roomy.set()
        if self._count == 0:
            self._idle.set()
