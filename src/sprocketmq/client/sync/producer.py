"""The producer for code without an event loop."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Unpack

from sprocketmq.client.arguments import check_message
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.names import full_group
from sprocketmq.client.options import ClientOptions, Connecting
from sprocketmq.client.producer.producer import Producer as AsyncProducer
from sprocketmq.client.producer.transactions import (
    LocalWork,
    TransactionCheck,
    TransactionState,
    checked_function,
    state_of,
)
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.sync.facade import Facade, blocking
from sprocketmq.client.sync.submit_queue import Feed
from sprocketmq.client.sync.transaction import Transaction, on_a_thread
from sprocketmq.client.telemetry.hooks import SendHook


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
        asked = None if check is None else on_a_thread(check)
        super().__init__(
            lambda: AsyncProducer(group, options, settings=settings, check=asked, hooks=hooks, trace=trace),
            options,
            group,
        )

    send = blocking(AsyncProducer.send)
    send_oneway = blocking(AsyncProducer.send_oneway)
    send_batch = blocking(AsyncProducer.send_batch)
    send_half = blocking(AsyncProducer.send_half)
    end_transaction = blocking(AsyncProducer.end_transaction)
    request = blocking(AsyncProducer.request)
    reply = blocking(AsyncProducer.reply)
    queues = blocking(AsyncProducer.queues)

    def transaction(self, message: Message) -> Transaction:
        """`with producer.transaction(message):` commits when the block ends well, rolls back when it raises."""
        return Transaction(self._started().transaction(message), self._run)

    def send_in_transaction(self, message: Message, work: LocalWork) -> tuple[SendReceipt, TransactionState]:
        """Store `message` unseen, do `work` on this thread; its state decides whether consumers get to see it."""
        checked_function("work", work)
        receipt = self.send_half(message)
        state = TransactionState.ROLLBACK
        try:
            if receipt.ok:
                state = self._run(state_of(work(message, receipt)))
        except BaseException:
            self.end_transaction(receipt, TransactionState.UNKNOWN)
            raise
        self.end_transaction(receipt, state)
        return receipt, state

    def submit(self, message: Message) -> Future[SendReceipt]:
        """Hand a message to automatic batching; waits only while the buffer is full."""
        check_message(message)
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
