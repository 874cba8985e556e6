"""One connection of a slave under a controller to its master: first the two find out where their logs part.

    handshake -> the master's epochs -> [cut what the master does not have] -> report -> frames and reports

The newest epoch that both logs have was written by one master: up to its end in the shorter of them they are the same,
and what is behind that here is nobody's. It is cut, durably, before the first report: a report is a promise. Nor are
bytes of a new epoch written before the epoch is on disk. While log or epochs are saved, what the master says is held.

A log whose epochs are all older than its master's oldest shares nothing that the master still has. It begins anew;
RocketMQ's slave asks again every two seconds, for ever.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from sprocketmq.broker.replication.epoch_store import EpochStore
from sprocketmq.broker.replication.slave_stream import SlaveStream
from sprocketmq.errors import FrameError
from sprocketmq.logs import Events
from sprocketmq.protocol.ha.epochs import EpochList, consistent_point, is_superseded
from sprocketmq.protocol.ha.switch_stream import (
    EpochFrame,
    Handshake,
    HandshakeAnswer,
    MasterDecoder,
    encode_handshake,
    encode_report,
)
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.replication")


class AutoSwitchStream(SlaveStream):
    def __init__(
        self, replica: Replica, reportable: Callable[[], int], store: MessageStore, epochs: EpochStore,
        handshake: Handshake,
    ) -> None:  # fmt: skip
        super().__init__(replica, reportable)
        self._store = store
        self._epochs = epochs
        self._handshake = handshake
        self._agreed = False
        self._messages = MasterDecoder()
        self._held: deque[EpochFrame | HandshakeAnswer] = deque()
        self._saving: asyncio.Future[None] | None = None

    def report(self, *, always: bool = False) -> None:
        if self._agreed:
            super().report(always=always)
        elif always and self._transport is not None:
            self._transport.write(encode_handshake(self._handshake))

    def _encoded(self, log_end: int) -> bytes:
        return encode_report(log_end)

    def _hear(self, data: bytes) -> None:
        self._held.extend(self._messages.feed(data))
        self._go_on()

    def _go_on(self) -> None:
        while self._held and self._saving is None:
            message = self._held.popleft()
            if isinstance(message, EpochFrame):
                self._take_frame(message)
            elif not self._agreed:  # a handshake that was repeated is answered twice
                self._agree(message)
        self._replica.check_dispatched()

    def _after(self, saving: Awaitable[None], then: Callable[[], object]) -> None:
        """Go on when the log or the epochs are on disk."""
        self._saving = asyncio.ensure_future(saving)
        self._saving.add_done_callback(partial(self._saved, then))
        if self._transport is not None:
            self._transport.pause_reading()

    def _saved(self, then: Callable[[], object], saving: asyncio.Future[None]) -> None:
        self._saving = None
        if not self.closed.done():
            self._try(partial(self._resume, then, saving))
        elif not saving.cancelled():
            saving.exception()  # seen; the next connection tries again

    def _resume(self, then: Callable[[], object], saving: asyncio.Future[None]) -> None:
        saving.result()
        then()
        self._go_on()
        if self._saving is None and self._transport is not None:
            self._transport.resume_reading()

    def _agree(self, answer: HandshakeAnswer) -> None:
        theirs, end = EpochList(answer.epochs), self._replica.end_offset
        point = consistent_point(self._epochs.list, end, theirs, answer.log_end)
        if point is None:
            point = self._without_common_epoch(end, theirs, answer.log_end)
        if point < self._replica.end_offset:  # flushed first, beside the loop: it may be much, and the cut needs it
            self._after(asyncio.to_thread(self._store.flusher.flush), partial(self._part, theirs, point))
        else:
            self._forget_epochs(theirs, point)

    def _part(self, theirs: EpochList, point: int) -> None:
        self._cut(point)
        self._forget_epochs(theirs, point)

    def _forget_epochs(self, theirs: EpochList, point: int) -> None:
        self._after(self._epochs.cut(self._first_unshared(theirs, point)), self._begin_to_follow)

    def _begin_to_follow(self) -> None:
        self._agreed = True
        self.report(always=True)

    def _cut(self, point: int) -> None:
        begin = self._store.log.min_offset
        if point < begin:  # what was shared has been cleaned here
            self._replica.begin_anew(f"it parts from its master's at {point}, and its own first file begins at {begin}")
        else:
            self._replica.cut(point, "its master has another log from there on")

    def _first_unshared(self, theirs: EpochList, point: int) -> int:
        """Where the first epoch begins that only this log has. Those that the master lacks since its old files went
        are in both logs all the same.
        """
        known = set(theirs)
        unshared = (each.start for each in self._epochs.list if each not in known and each.start >= point)
        return min(unshared, default=point + 1)

    def _without_common_epoch(self, end: int, theirs: EpochList, their_end: int) -> int:
        """A log without epochs is that of a plain slave, of the same master as far as anybody knows."""
        mine = self._epochs.list
        if end and is_superseded(mine, theirs):
            self._replica.begin_anew(f"its epochs {_told(mine)} are gone at the master, which has {_told(theirs)}")
            return self._replica.end_offset
        if end and (len(mine) or end > their_end):
            raise FrameError(
                f"no epoch of the log here ({_told(mine)}), which ends at {end}, is the master's ({_told(theirs)}): "
                "an operator must decide"
            )
        return end

    def _take_frame(self, frame: EpochFrame) -> None:
        if not self._agreed:
            raise FrameError("the log came before the handshake")
        if not frame.body:  # its master may have to know that it is followed
            self.report(always=True)
        last = self._epochs.list.last
        if frame.body and (last is None or frame.epoch.epoch > last.epoch):
            self._after(self._epochs.add(frame.epoch), lambda: self._take_log(frame))
        else:
            self._take_log(frame)

    def _take_log(self, frame: EpochFrame) -> None:
        confirmed = max(frame.confirm_offset, self._store.readable.confirm_offset or 0)
        self._store.readable.limit(confirmed)
        if frame.offset >= 0:
            self._take(frame.offset, frame.body)
        if not frame.body:
            self._replica.dispatch()


def _told(epochs: EpochList) -> str:
    return ", ".join(f"{each.epoch} from {each.start}" for each in epochs) or "none"
