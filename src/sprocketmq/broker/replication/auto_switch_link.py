"""One slave under a controller, as its master sees it: the same as any slave, in the auto-switch stream.

Before the log comes a handshake: the slave says who it is, the master which epochs its log has. A frame never crosses
the beginning of an epoch, and tells how far the log is confirmed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from sprocketmq.broker.replication.epoch_store import EpochStore
from sprocketmq.broker.replication.log_cursor import first_offset
from sprocketmq.broker.replication.slave_link import LinkOwner, SlaveLink
from sprocketmq.broker.settings import Settings
from sprocketmq.errors import FrameError
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.protocol.ha.switch_stream import Handshake, SlaveDecoder, encode_answer, encode_frame_header
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore


class AutoSwitchLink(SlaveLink):
    """`broker_id` is -1 before the handshake. `caught_up_at` is when the slave last had all there was."""

    def __init__(
        self, settings: Settings, store: MessageStore, replica: Replica, owner: LinkOwner,
        epochs: EpochStore, confirmed: Callable[[], int],
    ) -> None:  # fmt: skip
        super().__init__(settings, store, replica, owner)
        self.broker_id = -1
        self.learner = False
        self.caught_up_at = asyncio.get_running_loop().time()
        self._from_last_file = False
        self._epochs = epochs
        self._confirmed = confirmed
        self._told_confirmed = -1
        self._messages = SlaveDecoder()
        self._mark = (self.caught_up_at, 0)

    def _hear(self, data: bytes) -> None:
        for message in self._messages.feed(data):
            if isinstance(message, Handshake):
                self._shake_hands(message)
            elif self.broker_id < 0:
                raise FrameError("a report before the handshake")
            else:
                self._report(message.log_end)
                self._look_at_progress()

    def _shake_hands(self, handshake: Handshake) -> None:
        if self.cursor is not None:
            raise FrameError("a handshake after the first report")
        if self._paused:
            raise FrameError("handshakes whose answers are not read")
        self.broker_id, self.learner = handshake.broker_id, handshake.learner
        self._from_last_file = handshake.from_last_file
        if self._transport is not None:
            self._transport.write(encode_answer(self._store.readable.written_offset, self._epochs.list.all))

    def _look_at_progress(self) -> None:
        """A slave under load is always a little behind: it has caught up as of when the log ended where it is now."""
        now, end = asyncio.get_running_loop().time(), self._store.log.max_offset
        marked_at, marked_end = self._mark
        if self.ack >= marked_end:
            self.caught_up_at = now if self.ack >= end else marked_at
            self._mark = (now, end)

    def _first_offset(self) -> int:
        return first_offset(self._store) if self._from_last_file else self._store.log.min_offset

    def _run_bytes(self, offset: int) -> int:
        """A frame never crosses the beginning of an epoch."""
        return self._epochs.list.end_of(self._epoch_at(offset), sys.maxsize) - offset

    def _epoch_at(self, offset: int) -> Epoch:
        """Of a log that is older than its epochs, the first of them: a master always has one."""
        return self._epochs.list.at(offset) or next(iter(self._epochs.list))

    def _header(self, offset: int, size: int) -> bytes:
        self._told_confirmed = self._confirmed()
        return encode_frame_header(offset, size, self._epoch_at(offset), self._told_confirmed)

    def silent_for(self, now: float) -> float:
        return now - self._read_at

    def ask(self) -> None:
        """Have the slave say that it follows: one of ours answers a heartbeat."""
        if self.cursor is not None and self._transport is not None and not self._paused:
            self._transport.write(self._header(self.cursor.offset, 0))

    def tick(self, now: float) -> None:
        """A slave that was given everything must hear too that it is confirmed: its readers wait for that."""
        if self.cursor is not None and self._confirmed() > self._told_confirmed:
            self._wrote_at = 0.0
        super().tick(now)
