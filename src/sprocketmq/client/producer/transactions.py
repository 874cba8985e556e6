"""Transactional messages: stored first, visible only when the local work they announce is done.

half message stored -> local work -> COMMIT: visible | ROLLBACK: gone | UNKNOWN, or no word: the broker asks again
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from enum import IntEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from sprocketmq.client.arguments import check_message
from sprocketmq.client.errors import InvalidMessage
from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.producer.encoder import property_text
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.codes import RequestCode
from sprocketmq.protocol import headers
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.record.properties import PRODUCER_GROUP, TRANSACTION_PROPERTY
from sprocketmq.protocol.record.sysflag import TRANSACTION_COMMIT, TRANSACTION_PREPARED, TRANSACTION_ROLLBACK

if TYPE_CHECKING:
    from sprocketmq.client.producer.producer import Producer


class TransactionState(IntEnum):
    """What became of the local work. The numbers travel."""

    UNKNOWN = 0
    COMMIT = TRANSACTION_COMMIT
    ROLLBACK = TRANSACTION_ROLLBACK


#: Asked by the broker when it has heard nothing of a transaction: look the local work up and tell its state.
TransactionCheck = Callable[[ReceivedMessage], TransactionState | Awaitable[TransactionState]]

#: The local work itself; its state decides over the message.
LocalWork = Callable[[Message, SendReceipt], TransactionState | Awaitable[TransactionState]]


F = TypeVar("F", bound=Callable[..., object])


async def state_of(result: TransactionState | Awaitable[TransactionState]) -> TransactionState:
    """What a user's function has returned; TypeError when that says nothing of the transaction."""
    return checked_state(await result if inspect.isawaitable(result) else result)


def checked_state(state: Any) -> TransactionState:
    if not isinstance(state, TransactionState):
        raise TypeError(f"the state of a transaction must be a TransactionState, not {state!r:.80}")
    return state


def checked_function(name: str, function: F) -> F:
    if not callable(function):
        raise TypeError(f"{name} must be a function, not {type(function).__name__}")
    return function


class Transaction:
    """A half message and its block: leaving the block commits, an exception in it rolls back.

    async with producer.transaction(Message("orders", b"...")) as transaction:
        await database.store(order, transaction.id)
    """

    def __init__(self, producer: Producer, message: Message) -> None:
        self._producer = producer
        self._message = message
        self._receipt: SendReceipt | None = None
        self._ended = False

    @property
    def receipt(self) -> SendReceipt:
        if self._receipt is None:
            raise RuntimeError("the transaction has not begun")
        return self._receipt

    @property
    def id(self) -> str:
        return self.receipt.transaction_id or self.receipt.message_id

    async def begin(self) -> None:
        self._receipt = await self._producer.send_half(self._message)

    async def __aenter__(self) -> Transaction:
        await self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            await (self.commit() if error is None else self.rollback())

    async def commit(self) -> None:
        await self._end(TransactionState.COMMIT)

    async def rollback(self) -> None:
        await self._end(TransactionState.ROLLBACK)

    async def leave_open(self) -> None:
        """Decide later: the broker will ask the producer's `check`."""
        await self._end(TransactionState.UNKNOWN)

    async def _end(self, state: TransactionState) -> None:
        self._ended = True
        await self._producer.end_transaction(self.receipt, state)


async def send_half(producer: Producer, message: Message) -> SendReceipt:
    """Store `message` where no consumer sees it. It cannot be delayed as well."""
    check_message(message)
    if message.is_delayed:
        raise InvalidMessage("a transactional message cannot have a delay")
    sender, own = producer.sender, {TRANSACTION_PROPERTY: "true", PRODUCER_GROUP: producer.group}
    with sender.hooks.observed(message.topic, (message,), "half") as context:
        payload = producer.encoder.single(message, property_text(context.properties | own), TRANSACTION_PREPARED)
        context.receipt = receipt = await sender.send(payload, sender.deadline())
    return receipt


async def run(producer: Producer, message: Message, work: LocalWork) -> tuple[SendReceipt, TransactionState]:
    checked_function("work", work)
    receipt = await send_half(producer, message)
    state = TransactionState.ROLLBACK
    try:
        if receipt.ok:  # a half message that may be lost announces nothing
            state = await state_of(work(message, receipt))
    except BaseException:
        await end(producer, receipt, TransactionState.UNKNOWN)  # the work may have been done: the check will tell
        raise
    await end(producer, receipt, state)
    return receipt, state


async def end(producer: Producer, receipt: SendReceipt, state: TransactionState) -> None:
    """Tell the broker. When the word gets lost, the broker asks."""
    checked_state(state)
    if not isinstance(receipt, SendReceipt):
        raise TypeError(f"receipt must be the SendReceipt of send_half, not {type(receipt).__name__}")
    header = headers.transaction.EndTransactionRequestHeader(
        topic=receipt.queue.topic,
        producer_group=producer.group,
        tran_state_table_offset=receipt.queue_offset,
        commit_log_offset=int(receipt.offset_message_id[-16:], 16),
        commit_or_rollback=int(state),
        msg_id=receipt.message_id,
        transaction_id=receipt.transaction_id,
        bname=receipt.queue.broker_name,
    )
    sender = producer.sender
    route, _ = await sender.reach(receipt.queue.topic, sender.deadline(), receipt.queue)
    await producer.instance.oneway(route.address, RequestCode.END_TRANSACTION, header)


async def answer_check(producer: Producer, address: str, request: Command, message: ReceivedMessage) -> None:
    """A broker asks what became of a half message. Without a `check` it stays open, and the broker asks again."""
    asked = from_ext_fields(headers.transaction.CheckTransactionStateRequestHeader, request.ext_fields)
    state = TransactionState.UNKNOWN if producer.check is None else await state_of(producer.check(message))
    header = headers.transaction.EndTransactionRequestHeader(
        topic=message.stored_topic,
        producer_group=producer.group,
        tran_state_table_offset=asked.tran_state_table_offset,
        commit_log_offset=asked.commit_log_offset,
        commit_or_rollback=int(state),
        from_transaction_check=True,
        msg_id=message.message_id,
        transaction_id=asked.transaction_id,
    )
    await producer.instance.oneway(address, RequestCode.END_TRANSACTION, header)
