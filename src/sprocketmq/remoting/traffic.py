# cython: annotation_typing=False
"""The traffic of a connection: bytes in, commands to their handlers, answers out.

    read    every whole frame of a read is decoded and handled inline; the answers of that read leave in one write;
            damage ends the connection, but not before the whole frames in front of it are answered
    out     answers and requests of one turn of the loop are joined, in order, whoever writes them
    turns   a read that has more to do than its share, or a request that is long, goes on in the turns that follow; what
            came behind waits in `_backlog`
    bounds  a peer that does not read its answers is no longer read; what it sent already waits undone in `_backlog`,
            and when too much has piled up, the connection is dropped. The side that calls reads on: if both waited for
            the other to read, neither would. What all connections hold together is counted in `HeldBytes`

Every message passes here, so this part of a connection is compiled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from sprocketmq.errors import FrameError
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import MAX_HEADER_BYTES, FrameDecoder, encode_frame
from sprocketmq.remoting.costs import BYTE_NS, LARGE_BYTES, REFUSAL_NS, Costs
from sprocketmq.remoting.handlers import Frame, ProcessorTable
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.peer import UNKNOWN_PEER, Peer
from sprocketmq.remoting.pending_calls import PendingCalls
from sprocketmq.remoting.turns import Turns

if not cython.compiled:
    from sprocketmq.hot.memory import ticks_ns

events = Events("sprocketmq.remoting.connection")

#: So many requests are worth a write of their own: the peer begins with them while we go on.
_MANY_PARTS = 32

#: Parts larger than this on average go to the kernel as they are; smaller ones are cheaper to join first.
_LARGE_PART = 8192

_ONEWAY, _RESPONSE = int(FLAG_ONEWAY), int(FLAG_RESPONSE)


class HeldBytes:
    """What all connections of a server hold for their peers. Who passes a limit has `make_room` called.

    unfinished   of frames that have begun, and of them `strange`, of peers that have not made one request yet
    unread       of answers, as they were when they were written: an estimate, for nobody says when they are read
    turns        for whoever wants much of the loop's time
    """

    def __init__(self, max_unfinished: int, max_unread: int, make_room: Callable[[], object], costs: Costs) -> None:
        self.unfinished = self.strange = self.unread = 0
        self.max_unfinished = max_unfinished
        self.max_strange = max_unfinished // 4
        self.max_unread = max_unread
        self.turns: Any = Turns(costs)
        self._make_room = make_room

    def hold(self, grown: int, is_known: bool) -> None:
        self.unfinished += grown
        if not is_known:
            self.strange += grown
        if self.unfinished > self.max_unfinished or self.strange > self.max_strange:
            self._make_room()

    def write(self, grown: int) -> None:
        self.unread += grown
        if self.unread > self.max_unread:
            self._make_room()


class Traffic:
    """What a `Connection` is besides its life: who it is with, and what goes to and fro."""

    def __init__(self, table: ProcessorTable, limits: Limits, is_caller: bool, held: HeldBytes) -> None:
        self.peer: Peer = UNKNOWN_PEER
        #: Who made the request at hand, where there are accounts; see `auth.authentication.session`.
        self.session: Any = None
        self.in_flight = 0
        self.closed = False
        #: No more requests are read, and somebody waits until those that were read are answered.
        self.draining = False
        self.is_caller = is_caller
        self.last_active = 0.0
        self.frame_since: float | None = None
        self.stalled_since: float | None = None
        #: It waits for its turn to go on; see turns.py.
        self.awaits_turn = False
        #: What its requests have cost that is charged to its address, in nanoseconds; see costs.py.
        self.cost_ns = 0
        self._limits = limits
        self._max_in_flight = limits.max_in_flight
        self._pause_bytes = limits.write_pause_bytes
        self._max_unread = limits.write_max_bytes
        self._share_ns = int(limits.read_share_seconds * 1e9)
        self._long_ns = self._share_ns * 3 // 10
        self._takes_long = False  # its last request did: the next one waits for a turn, that many such are no one turn
        self._table = table
        self._decoder = FrameDecoder(limits.max_frame_bytes, MAX_HEADER_BYTES if is_caller else limits.max_header_bytes)
        self._held = held
        #: It has made a request that there is a handler for; where there are accounts, one that was rightly signed.
        self.is_known = is_caller
        self.unfinished = 0
        self._unread = 0
        self._loop = asyncio.get_running_loop()
        self._pending = PendingCalls(self._loop)
        self._transport: asyncio.Transport = _NOT_CONNECTED
        self._out: list[bytes | bytearray] = []
        self._out_bytes = 0
        self._flush_due = False
        self._backlog: list[Command] = []

    def close(self) -> None:
        """Close once what was written is out."""
        self._flush()
        self._transport.close()

    def abort(self, reason: str) -> None:
        """Drop the connection now, with whatever has not been written."""
        events.info("connection dropped", peer=self.peer, reason=reason)
        self._transport.abort()

    # -- in -------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self.last_active = now = self._loop.time()
        try:
            commands = self._decoder.feed(data)
        except FrameError as error:
            self.cost_ns += REFUSAL_NS
            self.abort(str(error))
            return
        # What `pending` of the decoder says: compiled, fields are read as C, and a property is a call of Python.
        pending = len(self._decoder._pending) + self._decoder._begun_bytes
        if pending == 0:
            self.frame_since = None
        elif commands or self.frame_since is None:
            self.frame_since = now
        if pending != self.unfinished:
            grown = pending - self.unfinished
            self.unfinished = pending
            self._held.hold(grown, self.is_known)
            if pending > LARGE_BYTES and not self.is_caller:
                self._held.turns.took(self, len(data))
        if not self.awaits_turn and (self.stalled_since is None or self.is_caller):
            if self._takes_long and commands and not self.is_caller:
                self._backlog.extend(commands)
                self.await_turn(self.take_turn)
            else:
                self._handle(commands)
        else:  # a loop may deliver one more read after the pause
            self._backlog.extend(commands)
        if commands and not self.is_known:
            self._meet(commands)
        if self._decoder.failure is not None:
            self.close_damaged()

    def close_damaged(self) -> None:
        """Close when what was read is no frame, and the frames in front of it have been handled."""
        if self._decoder.failure is not None and not self.awaits_turn:
            self.cost_ns += REFUSAL_NS
            events.info("connection dropped", peer=self.peer, reason=self._decoder.failure)
            self.close()

    def _meet(self, commands: list[Command]) -> None:
        if self._table.authority is not None:
            self.is_known = self.session is not None and self.session.is_proven
        else:
            codes = self._table.codes()
            self.is_known = any(command.code in codes for command in commands)
        if self.is_known:
            self._held.strange -= self.unfinished

    def release(self) -> None:
        """It holds nothing any more."""
        if self.unfinished > LARGE_BYTES:
            self.cost_ns += self.unfinished * BYTE_NS
        self._held.hold(-self.unfinished, self.is_known)
        self._held.write(-self._unread)
        self.unfinished = self._unread = 0

    def recount(self) -> int:
        """What its peer has not read now."""
        unread = 0 if self._transport.is_closing() else self._transport.get_write_buffer_size()
        self._held.unread += unread - self._unread
        self._unread = unread
        return unread

    def _handle(self, commands: list[Command]) -> None:
        began = before = ticks_ns()
        self._flush_due = True  # holds back the writes of the handlers: they join the answers of this read
        last = len(commands) - 1
        if last > 0 and self._table.authority is not None:
            connection: Any = self  # for mypy: only a Connection is ever made
            self._table.authority.look_ahead(connection, commands)
        for number in range(len(commands)):
            self._take(commands[number])
            if self._out_bytes > self._pause_bytes:
                self._write()
            if self.is_caller or number == last:
                continue
            now = ticks_ns()
            if (now - began > self._share_ns or now - before > self._long_ns) and not self.awaits_turn:
                self.await_turn(self.take_turn)
            before = now
            if self.awaits_turn or self.stalled_since is not None:
                self._backlog.extend(commands[number + 1 :])
                break
        self._flush()
        now = ticks_ns()
        self._takes_long = now - before > self._long_ns
        self._table.times.settle(now - began)
        if self.cost_ns:
            self.pay()

    def await_turn(self, go_on: Callable[[], object]) -> None:
        """Read nothing and do nothing more before `go_on` is called, in a later turn of the loop."""
        raise NotImplementedError

    def take_turn(self) -> None:
        """Go on with what waits."""
        raise NotImplementedError

    def notice_answer(self) -> None:
        """Tell who waits for the last answer that one was given."""
        raise NotImplementedError

    def pay(self) -> None:
        """Have its costs charged, and rest when they are too much."""
        raise NotImplementedError

    def _take(self, command: Command) -> None:
        if command.flag & _RESPONSE:
            self._pending.settle(command)
            return
        frame = self._answer(command)
        if command.flag & _ONEWAY:
            return
        if frame is None:
            command.arrived = self.last_active
            self.in_flight += 1
        elif type(frame) is bytes:  # as most are: here without `_put`, which a subclass of Python's must look up
            self._out.append(frame)
            self._out_bytes += len(frame)
        else:
            self._put_frame(frame)

    def _answer(self, request: Command) -> Frame | None:
        connection: Any = self
        if self.in_flight >= self._max_in_flight:
            busy = request.reply(ResponseCode.SYSTEM_BUSY, f"[OVERLOAD]{self.in_flight} requests wait")
            return encode_frame(busy)
        return self._table.process(connection, request)

    # -- requests that their callers encode -----------------------------------------------------------------------

    def expect(self, timeout: float) -> tuple[int, asyncio.Future[Command]]:
        """As `request`, for a caller that encodes by itself: the number its frame must have, and the future.

        The connection is open; the frame follows by `put` or `put_now`. Its answer is due at once, see `silent_for`.
        """
        return self._pending.add(timeout, True)

    def next_opaque(self) -> int:
        """The number of a oneway request that its caller encodes."""
        return self._pending.next_opaque()

    def put(self, frame: bytes) -> None:
        """Write a frame, with others that are written in this turn of the loop; enough of them leave before its end."""
        self._put(frame)
        if len(self._out) >= _MANY_PARTS:
            self._write()

    def put_now(self, parts: list[bytes | bytearray]) -> None:
        """Write a frame, in parts, without waiting for the end of this turn: the peer begins while we go on."""
        for part in parts:
            self._put(part)
        if self._out:
            self._write()

    # -- out ------------------------------------------------------------------------------------------------------

    def reply(self, reply: Command | Frame, request: Command, *, waited: bool = False) -> None:
        """The late answer to a request whose handler returned None; `waited` when that was for a message."""
        self.in_flight -= 1
        if isinstance(reply, Command):
            self._put_frame(encode_frame(reply))
        else:
            self._put_frame(reply)
        if self.draining:
            self.notice_answer()
        # last: whatever goes wrong with the figures, the answer is out
        self._table.answered_late(request, reply, self._loop.time() - request.arrived, waited)

    def _put_frame(self, frame: Frame) -> None:
        if isinstance(frame, bytes):
            self._put(frame)
        else:
            for part in frame:
                self._put(part)

    def _put(self, data: bytes | bytearray) -> None:
        if self.closed:
            return
        self._out.append(data)
        self._out_bytes += len(data)
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        if self._out:
            self._write()

    def _write(self) -> None:
        out, size = self._out, self._out_bytes
        self._out, self._out_bytes = [], 0
        if self._transport.is_closing():
            return
        if not self.is_caller:  # to a caller its own requests are no sign of life: a dead peer takes them, too
            self.last_active = self._loop.time()
        if size > len(out) * _LARGE_PART:
            self._transport.writelines(out)
        else:
            self._transport.write(b"".join(out) if len(out) > 1 else out[0])
        unread = self._transport.get_write_buffer_size()
        if unread > self._max_unread:
            self.abort("the peer does not read its answers")
        elif unread != self._unread:
            grown = unread - self._unread
            self._unread = unread
            self._held.write(grown)


class _NotConnected(asyncio.Transport):
    """Before `connection_made` there is nothing to write to; closing is harmless, anything else is a bug and raises."""

    def close(self) -> None:
        return

    abort = close


_NOT_CONNECTED = _NotConnected()
