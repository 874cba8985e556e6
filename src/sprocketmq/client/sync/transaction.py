"""Transactional messages for code without an event loop.

The user's own functions do not run on the loop's thread: a connection to a database often belongs to the thread that
opened it, and a function that waits there would hold up every other call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

from sprocketmq.client.message import SendReceipt
from sprocketmq.client.producer.transactions import Transaction as AsyncTransaction
from sprocketmq.client.producer.transactions import TransactionCheck, TransactionState, checked_function, state_of
from sprocketmq.client.received import ReceivedMessage

Run = Callable[[Coroutine[Any, Any, None]], None]


class Transaction:
    """A half message and its block: leaving the block commits, an exception in it rolls back.

    with producer.transaction(Message("orders", b"...")) as transaction:
        database.store(order, transaction.id)
    """

    def __init__(self, inner: AsyncTransaction, run: Run) -> None:
        self._inner, self._run = inner, run

    @property
    def receipt(self) -> SendReceipt:
        return self._inner.receipt

    @property
    def id(self) -> str:
        return self._inner.id

    def __enter__(self) -> Transaction:
        self._run(self._inner.begin())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._inner.__aexit__(kind, error, trace))

    def commit(self) -> None:
        self._run(self._inner.commit())

    def rollback(self) -> None:
        self._run(self._inner.rollback())

    def leave_open(self) -> None:
        """Decide later: the broker will ask the producer's `check`."""
        self._run(self._inner.leave_open())


def on_a_thread(check: TransactionCheck) -> TransactionCheck:
    """The same check, for the loop: it waits for the answer and goes on meanwhile."""
    from sprocketmq.client.push.handler_threads import HandlerThreads  # a producer without a check needs none

    checked_function("check", check)
    threads = HandlerThreads(1, "transaction-check")

    async def ask(message: ReceivedMessage) -> TransactionState:
        loop = asyncio.get_running_loop()
        return await state_of(await loop.run_in_executor(threads, check, message))

    return ask
