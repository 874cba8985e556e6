# cython: annotation_typing=False
"""Receipts that are on their way: one future per message, settled by the batch that the message travels in.

A batch gets one answer. So its messages share one `BatchOutcome`, and their futures only know their place in it:
nothing is done for a message whose receipt nobody asks for, and a receipt is made when it is asked for.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Generator, Iterator
from types import TracebackType

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.client.message import SendReceipt

if not cython.compiled:
    from sprocketmq.hot.octets import put_hex16, text
    from sprocketmq.hot.tuples import tuple_of

log = logging.getLogger("sprocketmq.client.producer.receipts")


class BatchReceipts:
    """The receipts of a batch's messages by their place in it: the offsets follow one another, and so do the ids.

    The ids begin with `head`, and go on with a counter of four hex digits that begins at `first`.
    """

    __slots__ = ("_first", "_ids", "_key", "_offset", "_offset_ids", "_queue", "_status", "count")

    def __init__(self, receipt: SendReceipt, head: str, first: int, count: int) -> None:
        self.count = count
        self._status, self._queue, self._offset = receipt.status, receipt.queue, receipt.queue_offset
        self._offset_ids = receipt.offset_message_id
        self._ids: list[str] | None = None
        # One buffer for all ids: the counter is written into its end and read at once, on the thread that has the GIL.
        self._key = bytearray(head.encode() + b"0000")
        self._first = first

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[SendReceipt]:
        for index in range(self.count):
            yield self._at(index)

    def __getitem__(self, index: int) -> SendReceipt:
        if not 0 <= index < self.count:
            raise IndexError(index)
        return self._at(index)

    def _at(self, index: int) -> SendReceipt:
        if self._ids is None:
            self._ids = self._split_ids()
        p = self._key
        end = len(self._key)
        put_hex16(p, end - 4, self._first + index & 0xFFFF)
        return tuple_of(
            SendReceipt,
            (self._status, text(p, 0, end), self._ids[index], self._queue, self._offset + index, None, None, None),
        )

    def _split_ids(self) -> list[str]:
        ids = self._offset_ids.split(",")
        return ids if len(ids) == self.count else [self._offset_ids] * self.count  # a broker that does not tell all


class BatchOutcome:
    """What became of messages that travel together: nothing yet, their receipts, or an error."""

    __slots__ = ("_asked", "_error", "_loop", "_receipt", "_receipts", "_traceback", "_waiting", "is_settled")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.is_settled = False
        self._loop = loop
        self._receipts: BatchReceipts | None = None
        self._receipt: SendReceipt | None = None
        self._error: BaseException | None = None
        self._traceback: TracebackType | None = None
        self._waiting: list[ReceiptFuture] = []
        self._asked = False

    def settle(self, receipts: BatchReceipts) -> None:
        self._receipts = receipts
        self._tell()

    def settle_alone(self, receipt: SendReceipt) -> None:
        """There is one message, and this is its receipt."""
        self._receipt = receipt
        self._tell()

    def fail(self, error: BaseException) -> None:
        self._error, self._traceback = error, error.__traceback__
        self._tell()

    def error(self) -> BaseException | None:
        self._asked = True
        return self._error

    def receipt(self, index: int) -> SendReceipt:
        if self._error is not None:
            self._asked = True
            raise self._error.with_traceback(self._traceback)
        if self._receipts is not None:
            return self._receipts._at(index)
        assert self._receipt is not None
        return self._receipt

    def _tell(self) -> None:
        self.is_settled = True
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            future._call_back()

    def __del__(self) -> None:
        if self._error is not None and not self._asked:
            log.error("messages were not sent, and nobody asked for their receipts: %s", self._error)


class ReceiptFuture:
    """The receipt of one message, in time: await it, or ask it as an `asyncio.Future` is asked.

    asyncio takes it for one (`gather`, `wait`, `wait_for`), but it costs a tenth. To cancel it is to stop waiting: the
    message goes its way.
    """

    __slots__ = ("_asyncio_future_blocking", "_callbacks", "_index", "_is_cancelled", "_outcome")

    _asyncio_future_blocking: bool  # by this name asyncio knows what it can wait for
    _outcome: BatchOutcome
    _index: int
    _is_cancelled: bool
    _callbacks: list[tuple[Callable[[ReceiptFuture], object], contextvars.Context | None]] | None

    def __init__(self) -> None:
        raise TypeError("a ReceiptFuture comes from `submit`")  # `future_of` fills in what the methods rely on

    def done(self) -> bool:
        return self._is_cancelled or self._outcome.is_settled

    def result(self) -> SendReceipt:
        """The receipt; raises the error that there is instead of one."""
        if self._is_cancelled:
            raise asyncio.CancelledError
        if not self._outcome.is_settled:
            raise asyncio.InvalidStateError("the receipt is not there yet")
        return self._outcome.receipt(self._index)

    def exception(self) -> BaseException | None:
        if self._is_cancelled:
            raise asyncio.CancelledError
        if not self._outcome.is_settled:
            raise asyncio.InvalidStateError("the receipt is not there yet")
        return self._outcome.error()

    def cancelled(self) -> bool:
        return self._is_cancelled

    def cancel(self, msg: object = None) -> bool:
        if self.done():
            return False
        self._is_cancelled = True
        self._call_back()
        return True

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._outcome._loop

    def add_done_callback(
        self, callback: Callable[[ReceiptFuture], object], *, context: contextvars.Context | None = None
    ) -> None:
        """`callback` is called by the loop, soon, with this future; at once when it is done already."""
        if self.done():
            self._outcome._loop.call_soon(callback, self, context=context)
            return
        if self._callbacks is None:
            self._callbacks = []
            self._outcome._waiting.append(self)
        self._callbacks.append((callback, context))

    def remove_done_callback(self, callback: Callable[[ReceiptFuture], object]) -> int:
        kept = [pair for pair in self._callbacks or () if pair[0] != callback]
        removed = len(self._callbacks or ()) - len(kept)
        if self._callbacks is not None:
            self._callbacks = kept
        return removed

    def __await__(self) -> Generator[ReceiptFuture, None, SendReceipt]:
        if not self.done():
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    def _make_cancelled_error(self) -> asyncio.CancelledError:
        return asyncio.CancelledError()

    def _join(self, outcome: BatchOutcome, index: int) -> None:
        """From now on a message of another batch."""
        self._outcome, self._index = outcome, index
        if self._callbacks is not None:
            outcome._waiting.append(self)

    def _fail(self, error: BaseException) -> None:
        """Its message never got into a batch."""
        self._outcome.fail(error)

    def _call_back(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback, context in callbacks or ():
            self._outcome._loop.call_soon(callback, self, context=context)


def future_of(outcome: BatchOutcome, index: int) -> ReceiptFuture:
    """The future of the message at that place. No constructor makes it: compiled, calling one costs more than this."""
    future = ReceiptFuture.__new__(ReceiptFuture)
    future._asyncio_future_blocking = False
    future._outcome = outcome
    future._index = index
    future._is_cancelled = False
    future._callbacks = None
    return future
