"""One connection of a slave to the HA port of its master: log bytes come in, reports go out.

Every record is checked before it is written. A frame that does not begin where the log here ends, and a record that is
damaged, end the connection: nothing of them is written, and nothing of them is ever reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from sprocketmq.errors import FrameError, SprocketError
from sprocketmq.logs import Events
from sprocketmq.protocol.ha.default_stream import TransferDecoder, encode_report
from sprocketmq.store.replica import Replica

events = Events("sprocketmq.broker.replication")


class SlaveStream(asyncio.Protocol):
    """`closed` is done when the connection is; its result says why."""

    def __init__(self, replica: Replica, reportable: Callable[[], int]) -> None:
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.received_bytes = 0
        self.read_at = self.wrote_at = asyncio.get_running_loop().time()
        self._replica = replica
        self._reportable = reportable
        self._reported = -1
        self._decoder = TransferDecoder()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's are not made from it
        self.report(always=True)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._replica.forget_incomplete()
        if not self.closed.done():
            self.closed.set_result("the master closed it" if error is None else str(error))

    def close(self, reason: str) -> None:
        if not self.closed.done():
            self.closed.set_result(reason)
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self.read_at = asyncio.get_running_loop().time()
        if not self.closed.done():
            self._try(lambda: self._hear(data))

    def _try(self, work: Callable[[], object]) -> None:
        """Do what the master's bytes ask for, and tell what is here then. What is wrong ends the connection."""
        try:
            work()
        except (SprocketError, OSError) as error:  # of the disk: what cannot be kept is not reported, and comes again
            events.error("replication stopped", error, log_end=self._replica.end_offset)
            self.close(str(error))
            return
        self.report()

    def _hear(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            self._take(frame.offset, frame.body)
        self._replica.check_dispatched()

    def _take(self, offset: int, body: bytes) -> None:
        replica = self._replica
        if replica.received_offset == 0 and offset:  # an empty log begins wherever the master says
            if not body:
                return
            replica.begin_at(offset)
        if offset != replica.received_offset:
            raise FrameError(f"the master sends from {offset}, here {replica.received_offset} is next")
        if body:
            replica.append(body)
            self.received_bytes += len(body)

    def _encoded(self, log_end: int) -> bytes:
        return encode_report(log_end)

    def report(self, *, always: bool = False) -> None:
        """Tell the master what is here, when that is more than it knows."""
        offset = self._reportable()
        if self._transport is None or (offset <= self._reported and not always):
            return
        self._reported = max(offset, self._reported)
        self._transport.write(self._encoded(self._reported))
        self.wrote_at = asyncio.get_running_loop().time()
