"""The producer: sends messages one by one, in batches, in transactions, or as requests that wait for a reply."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from sprocketmq.client.arguments import check_message, message_list
from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.replies import Reply
from sprocketmq.client.cluster.shared_instances import acquire, release
from sprocketmq.client.cluster.tasks import BackgroundTasks
from sprocketmq.client.errors import Closed
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.names import full_group, full_topic
from sprocketmq.client.options import ClientOptions, Connecting, describe, settings_of
from sprocketmq.client.producer import request_reply, transactions
from sprocketmq.client.producer.batcher import Batcher
from sprocketmq.client.producer.encoder import Encoder, property_text
from sprocketmq.client.producer.queue_selectors import QueueSelector, by_sharding_key
from sprocketmq.client.producer.receipts import ReceiptFuture
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.producer.transactions import LocalWork, Transaction, TransactionCheck, TransactionState
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.telemetry.default_hooks import default_hooks
from sprocketmq.client.telemetry.hooks import SendHook, checked_hooks, checked_trace, kind_of
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

if TYPE_CHECKING:
    from sprocketmq.client.telemetry.trace import Tracer


class Producer:
    """Sends messages for one producer group.

    async with Producer("orders-service", nameserver="127.0.0.1:9876") as producer:
        receipt = await producer.send(Message("orders", b"one apple", tag="new", keys=["42"]))

    Every send ends within its timeout, with a receipt or an error. `check` answers brokers that ask what became of a
    transaction. Safe for many tasks of one event loop; `sprocketmq.client.sync.Producer` is the same for threads.
    """

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
        self.options = ClientOptions.of(nameserver, **connecting)
        self.settings = settings_of(ProducerSettings, settings)
        self.encoder = Encoder(self.options.namespace, self.settings)
        self.check = transactions.checked_function("check", check) if check is not None else None
        self.tasks = BackgroundTasks()
        self._name = full_group(self.options, group)
        self._hooks: list[SendHook] = checked_hooks(hooks, "before_send", "after_send")
        self._trace = checked_trace(trace)
        self._tracer: Tracer | None = None
        self._instance: ClientInstance | None = None
        self._sender: Sender | None = None
        self._batcher: Batcher | None = None

    def __repr__(self) -> str:
        return describe(self, self.group, self.options, is_started=self._instance is not None)

    # -- life -------------------------------------------------------------------------------------------------------

    @property
    def group(self) -> str:
        return self.encoder.topic(self._name)

    @property
    def instance(self) -> ClientInstance:
        if self._instance is None:
            raise Closed("the producer is not started, or was stopped")
        return self._instance

    @property
    def sender(self) -> Sender:
        if self._sender is None:
            raise Closed("the producer is not started, or was stopped")
        return self._sender

    async def start(self) -> Self:
        if self._instance is not None:
            return self
        instance = self._instance = acquire(self.options, producer=self.group)
        hooks: list[SendHook] = [*self._hooks, *default_hooks()]
        if self._trace:
            from sprocketmq.client.producer.trace_sender import tracer_of

            self._tracer = tracer_of(instance, self.group, self._trace)
            self.tasks.spawn(self._tracer.run(), "message trace")
            hooks.append(self._tracer)
        self._sender = Sender(instance, self.group, self.settings, hooks)
        self._batcher = Batcher(self._sender, self.encoder, self.settings, self._send_alone)
        await instance.join(producer=self)
        return self

    async def stop(self) -> None:
        """Send what waits, say goodbye to the brokers, and close."""
        instance, batcher = self._instance, self._batcher
        if instance is None or batcher is None:
            return
        try:
            await batcher.stop()
            if self._tracer is not None:
                await self._tracer.flush()
            await self.tasks.stop()
            await instance.leave(producer=self.group)
        finally:
            self._instance = self._sender = self._batcher = None
            await release(instance, producer=self.group)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # -- sending ----------------------------------------------------------------------------------------------------

    async def send(
        self,
        message: Message,
        *,
        timeout: float | None = None,
        queue: MessageQueue | None = None,
        selector: QueueSelector | None = None,
    ) -> SendReceipt:
        """Send one message and wait for its receipt.

        A message with a `sharding_key` goes to that key's queue; `queue` and `selector` choose otherwise.
        """
        if type(message) is not Message:
            check_message(message)
        sender = self._sender or self.sender
        deadline = sender.deadline(timeout)
        is_free = queue is not None or (selector is None and message.sharding_key is None)
        select = None if is_free else functools.partial(selector or by_sharding_key, message)
        if not sender.is_observed:
            return await sender.send(self.encoder.single(message), deadline, queue, select)
        with sender.hooks.observed(message.topic, (message,), kind_of(message)) as context:
            payload = self.encoder.single(message, property_text(context.properties))
            receipt = context.receipt = await sender.send(payload, deadline, queue, select)
        return receipt

    async def send_oneway(self, message: Message, *, queue: MessageQueue | None = None) -> None:
        """Send and forget: no receipt, no retry, and no word when it is lost."""
        check_message(message)
        sender = self.sender
        with sender.hooks.observed(message.topic, (message,), kind_of(message)) as context:
            payload = self.encoder.single(message, property_text(context.properties))
            select = None if message.sharding_key is None else functools.partial(by_sharding_key, message)
            route, connection = await sender.reach(payload.topic, sender.deadline(), queue, select)
            context.queue = route.queue
            sender.oneway(payload, route, connection)

    async def send_batch(
        self, messages: Iterable[Message], *, timeout: float | None = None, queue: MessageQueue | None = None
    ) -> list[SendReceipt]:
        """Send messages of one topic together, split where they exceed the size limit; one receipt per message.

        What was sent before an error stays sent.
        """
        receipts: list[SendReceipt] = []
        deadline = self.sender.deadline(timeout)
        for part in self.encoder.parts(message_list(messages)):
            receipts += await self._send_part(part, deadline, queue)
        return receipts

    def submit(self, message: Message) -> ReceiptFuture:
        """Hand a message to automatic batching; the future brings its receipt.

        Returns at once, and raises Overloaded when the buffer is full: `await room()` then.
        """
        return self._open_batcher().submit(message)

    async def enqueue(self, message: Message) -> ReceiptFuture:
        """As `submit`, but waits while the buffer is full."""
        await self.room()
        return self.submit(message)

    async def enqueue_all(self, messages: Iterable[Message]) -> list[ReceiptFuture]:
        """As `enqueue`, for many messages, and the quickest way to send them; one future per message, in their order.

        What was enqueued before an error stays enqueued.
        """
        left, futures = iter(messages), list[ReceiptFuture]()
        await self.room()
        while self._open_batcher().submit_some(left, futures):
            await self.room()
        return futures

    @property
    def is_full(self) -> bool:
        return self._batcher is not None and self._batcher.is_full

    async def room(self) -> None:
        """Wait until `submit` takes another message."""
        if self._batcher is not None:
            await self._batcher.room()

    async def flush(self) -> None:
        """Wait until every submitted message has its receipt or its error."""
        if self._batcher is not None:
            await self._batcher.flush()

    async def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """The queues of `topic` that take messages now."""
        full = full_topic(self.options.namespace, topic)
        return (await self.sender.route(full, self.sender.deadline())).write_queues

    # -- transactions -------------------------------------------------------------------------------------------------

    def transaction(self, message: Message) -> Transaction:
        """`async with producer.transaction(message):` commits when the block ends well, rolls back when it raises."""
        check_message(message)
        return Transaction(self, message)

    async def send_in_transaction(self, message: Message, work: LocalWork) -> tuple[SendReceipt, TransactionState]:
        """Store `message` unseen, do `work`, and let its state decide whether consumers get to see it."""
        return await transactions.run(self, message, work)

    async def send_half(self, message: Message) -> SendReceipt:
        """The first phase alone; end it with `end_transaction`."""
        return await transactions.send_half(self, message)

    async def end_transaction(self, receipt: SendReceipt, state: TransactionState) -> None:
        await transactions.end(self, receipt, state)

    def check_transaction(self, address: str, request: Command, message: ReceivedMessage) -> None:
        self.tasks.spawn(transactions.answer_check(self, address, request, message), "transaction check")

    # -- request and reply --------------------------------------------------------------------------------------------

    async def request(self, message: Message, *, timeout: float = 3.0) -> Reply:
        """Send a message and wait for the message its consumer replies with."""
        check_message(message)
        return await request_reply.request(self, message, timeout)

    async def reply(self, request: ReceivedMessage, body: bytes) -> None:
        """Answer a message that was sent with `request`."""
        await request_reply.reply(self.sender, request, body, self.sender.deadline())

    # -- inside -----------------------------------------------------------------------------------------------------

    def _open_batcher(self) -> Batcher:
        if self._batcher is None:
            raise Closed("the producer is not started, or was stopped")
        return self._batcher

    async def _send_part(
        self, messages: Sequence[Message], deadline: float, queue: MessageQueue | None
    ) -> list[SendReceipt]:
        """One request of an explicit batch."""
        topic, sender = messages[0].topic, self.sender
        with sender.hooks.observed(topic, messages, "batch") as context:
            content = self.encoder.accumulator(context.properties)
            for message in messages:
                content.add(message)
            payload = self.encoder.batch(self.encoder.topic(topic), content.close())
            receipt = await sender.send(payload, deadline, queue)
            own = list(content.receipts(receipt))
            context.receipt = receipt._replace(message_id=",".join(each.message_id for each in own))
        return own

    def _send_alone(self, message: Message) -> asyncio.Future[SendReceipt]:
        return asyncio.ensure_future(self.send(message))
