"""One slave, as its master sees it: the log goes out as the socket takes it, reports come in.

A link costs its cursor and what the transport may hold, `_HIGH_WATER` and one write. A slave that reads slowly is given
less, one that reads nothing is given nothing, and neither is anything to the others.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Protocol, cast

from sprocketmq.broker.replication.log_cursor import LogCursor, first_offset, out_of_range
from sprocketmq.broker.settings import Settings
from sprocketmq.errors import FrameError
from sprocketmq.logs import Events
from sprocketmq.protocol.ha.default_stream import ReportDecoder, encode_frame_header
from sprocketmq.remoting.peer import UNKNOWN_PEER, Peer, peer_of
from sprocketmq.store.replica import Replica
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.replication")

_HIGH_WATER = 64 << 10
#: Bytes of the log in one write to the socket, in as many frames as that takes: a call costs more than its frames do.
_WRITE_BYTES = 128 << 10
#: Bytes given in one turn of the loop: a slave that catches up must not keep clients waiting.
_TURN_BYTES = 1 << 20


class LinkOwner(Protocol):
    def admit(self, link: SlaveLink) -> str | None:
        """Take a new slave; why not, where it is not taken."""
        ...

    def reported(self, link: SlaveLink) -> None: ...

    def closed(self, link: SlaveLink) -> None: ...


class SlaveLink(asyncio.Protocol):
    """`ack` is what the slave has reported last, `began` what it has reported first; -1 before that."""

    def __init__(self, settings: Settings, store: MessageStore, replica: Replica, owner: LinkOwner) -> None:
        self.peer: Peer = UNKNOWN_PEER
        self.ack = self.began = -1
        self.sent_bytes = 0
        self.cursor: LogCursor | None = None
        self._settings = settings
        self._store = store
        self._replica = replica
        self._owner = owner
        self._decoder = ReportDecoder()
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._turn: asyncio.Handle | None = None
        self._read_at = self._wrote_at = 0.0

    # -- the connection -----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's are not made from it
        self.peer = peer_of(transport.get_extra_info("peername"), transport.get_extra_info("sockname"))
        transport.set_write_buffer_limits(_HIGH_WATER)
        self._read_at = self._wrote_at = asyncio.get_running_loop().time()
        refused = self._owner.admit(self)
        if refused is not None:
            self.close(refused)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._turn is not None:
            self._turn.cancel()
        self._owner.closed(self)

    def close(self, reason: str) -> None:
        if self._transport is not None and not self._transport.is_closing():
            events.warning("slave disconnected", slave=self.peer, ack=self.ack, reason=reason)
            self._transport.abort()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self.give()

    # -- reports ------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._read_at = asyncio.get_running_loop().time()
        try:
            self._hear(data)
        except FrameError as error:
            self.close(str(error))

    def _hear(self, data: bytes) -> None:
        reports = self._decoder.feed(data)
        if reports:
            self._report(reports[-1])

    def _report(self, offset: int) -> None:
        """Only what was given can be there: a report beyond that is of another log, or of no slave at all."""
        if self.cursor is None:
            self._begin(offset)
        elif offset > self.cursor.offset:
            self.close(f"reports {offset}, was given {self.cursor.offset}")
        elif offset > self.ack:
            self.ack = offset
            self._owner.reported(self)

    def _begin(self, offset: int) -> None:
        reason = out_of_range(self._store, offset) if offset else None
        if reason is not None:
            events.error(
                "slave cannot follow", slave=self.peer, reported=offset, log_begin=self._store.log.min_offset,
                log_end=self._store.readable.written_offset, reason=reason,
            )  # fmt: skip
            self.close(reason)
            return
        self.cursor = LogCursor(self._store, self._replica, offset or self._first_offset())
        self.ack = self.began = offset
        events.info("slave follows", slave=self.peer, begin=self.cursor.offset)
        self._owner.reported(self)
        self.give()

    def _first_offset(self) -> int:
        """Where a slave begins that has nothing."""
        return first_offset(self._store)

    # -- the log ------------------------------------------------------------------------------------------------------

    def give(self) -> None:
        """Send what is there, as far as the slave takes it and the turn allows."""
        if self._turn is None:
            self._give()

    def _give(self) -> None:
        self._turn = None
        transport, cursor = self._transport, self.cursor
        if transport is None or cursor is None or self._paused or transport.is_closing():
            return
        begin = cursor.offset
        while not self._paused and cursor.offset < begin + _TURN_BYTES and (frames := self._next_frames(cursor)):
            transport.writelines(frames)
        if cursor.offset > begin:
            self.sent_bytes += cursor.offset - begin
            self._wrote_at = asyncio.get_running_loop().time()
        if cursor.behind > 0 and not self._paused:
            self._go_on(cursor)

    def _next_frames(self, cursor: LogCursor) -> list[bytes | memoryview]:
        """Headers and bodies for one write; none when there is nothing to give now."""
        begin, limit = cursor.offset, self._settings.current.ha_transfer_batch_size
        run = cursor.take(min(max(_WRITE_BYTES, limit), self._run_bytes(begin))) or memoryview(b"")
        frames: list[bytes | memoryview] = []
        for at in range(0, len(run), limit):
            body = run[at : at + limit]
            frames += (self._header(begin + at, len(body)), body)
        return frames

    def _run_bytes(self, offset: int) -> int:
        """How much of the log from `offset` on may go out under headers of one kind."""
        return sys.maxsize

    def _header(self, offset: int, size: int) -> bytes:
        """Of a frame; without a body it is a heartbeat."""
        return encode_frame_header(offset, size)

    def _go_on(self, cursor: LogCursor) -> None:
        reason = out_of_range(self._store, cursor.offset)
        if reason is not None:  # its files were cleaned away before it had them
            self.close(reason)
            return
        self._turn = asyncio.get_running_loop().call_soon(self._give)

    def tick(self, now: float) -> None:
        """Called about once a second: nobody is silent for long, and who is silent is gone."""
        config = self._settings.current
        if (now - self._read_at) * 1000 > config.ha_housekeeping_interval:
            self.close(f"silent for {config.ha_housekeeping_interval} ms")
        elif self.cursor is not None and (now - self._wrote_at) * 1000 > config.ha_send_heartbeat_interval:
            if self._transport is not None and not self._paused:
                self._transport.write(self._header(self.cursor.offset, 0))
            self._wrote_at = now
