"""One connection, the same for both sides: `asyncio.Protocol` around the frame codec.

    read    every whole frame of a read is decoded and handled inline; the answers of that read leave in one write;
            damage ends the connection, but not before the whole frames in front of it are answered
    out     answers and requests of one turn of the loop are joined, in order, whoever writes them
    call    a request of ours waits in `_pending` for the response with its opaque; answers come in any order
    bounds  a peer that does not read its answers is no longer read; what it sent already waits undone in `_backlog`,
            and when nothing moves for long, or too much has piled up, the connection is dropped. The side that calls
            reads on: if both waited for the other to read, neither would

A connection belongs to one event loop, and nothing here blocks.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from sprocketmq.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from sprocketmq.errors import ConnectionLost, FrameError
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame import FrameDecoder, encode_frame
from sprocketmq.remoting.peer import UNKNOWN_PEER, Peer, peer_of
from sprocketmq.remoting.pending import PendingCalls
from sprocketmq.remoting.processors import Frame, Handler, ProcessorTable, refusal

if TYPE_CHECKING:
    from sprocketmq.remoting.registry import ConnectionRegistry

events = Events(__name__)

#: Parts larger than this on average go to the kernel as they are; smaller ones are cheaper to join first.
_LARGE_PART = 8192

#: So many requests are worth a write of their own: the peer begins with them while we go on.
_MANY_PARTS = 32

_NOTHING_HOT: dict[int, Handler] = {}


class Connection(asyncio.Protocol):
    """`attributes` is the owner's: what a broker knows of the client behind this connection."""

    def __init__(self, table: ProcessorTable, registry: ConnectionRegistry, *, is_caller: bool = False) -> None:
        self.peer: Peer = UNKNOWN_PEER
        self.attributes: dict[str, Any] = {}
        self.on_closed: list[Callable[[Connection], None]] = []
        self.in_flight = 0
        self.closed = False
        self.is_caller = is_caller
        self.last_active = 0.0
        self.frame_since: float | None = None
        self.stalled_since: float | None = None
        self._limits = registry.limits
        self._registry = registry
        self._table = table
        self._decoder = FrameDecoder(self._limits.max_frame_bytes)
        self._loop = asyncio.get_running_loop()
        self._pending = PendingCalls(self._loop)
        self._transport: asyncio.Transport = _NOT_CONNECTED
        self._out: list[bytes | bytearray] = []
        self._out_bytes = 0
        self._flush_due = False
        self._backlog: deque[Command] = deque()
        self._draining = False

    # -- what owners use ------------------------------------------------------------------------------------------

    def request(self, command: Command, timeout: float) -> asyncio.Future[Command]:
        """Send a request; the future brings its response, RequestTimeout or ConnectionLost."""
        if self.closed:
            raise ConnectionLost(f"the connection to {self.peer} is closed")
        command.opaque, future = self._pending.add(timeout)
        self._put(encode_frame(command))
        return future

    async def call(self, command: Command, timeout: float) -> Command:
        return await self.request(command, timeout)

    def expect(self, timeout: float) -> tuple[int, asyncio.Future[Command]]:
        """As `request`, for a caller that encodes by itself: the number its frame must have, and the future.

        The connection is open; the frame follows by `put` or `put_now`.
        """
        return self._pending.add(timeout)

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

    def send(self, command: Command) -> None:
        """Send a oneway request: nobody answers it. On a closed connection it is dropped, as on a broken wire."""
        command.opaque = self._pending.next_opaque()
        command.flag |= FLAG_ONEWAY
        self._put(encode_frame(command))

    def reply(self, reply: Command | Frame) -> None:
        """The late answer to a request whose handler returned None."""
        self.in_flight -= 1
        self._put_frame(encode_frame(reply) if isinstance(reply, Command) else reply)
        if self._draining:
            self._registry.notice()

    def close(self) -> None:
        """Close once what was written is out."""
        self._flush()
        self._transport.close()

    def abort(self, reason: str) -> None:
        """Drop the connection now, with whatever has not been written."""
        events.info("connection dropped", peer=self.peer, reason=reason)
        self._transport.abort()

    def drain(self) -> None:
        """Read no more requests; those that were read are still answered."""
        self._draining = True
        self._stop_reading()

    @property
    def is_settled(self) -> bool:
        """Nothing is owed to the peer: every request that was read is answered."""
        return self.closed or not (self.in_flight > 0 or self._backlog)

    # -- what the event loop calls --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's is one by its methods only
        names = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self.peer = self._pending.peer = peer_of(*names)
        self.last_active = self._loop.time()
        transport.set_write_buffer_limits(high=self._limits.write_pause_bytes)
        if (raw := transport.get_extra_info("socket")) is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self._registry.add(self):
            self.abort(f"more than {self._registry.capacity} connections")

    def data_received(self, data: bytes) -> None:
        self.last_active = now = self._loop.time()
        try:
            commands = self._decoder.feed(data)
        except FrameError as error:
            self.abort(str(error))
            return
        if not self._decoder.pending:
            self.frame_since = None
        elif commands or self.frame_since is None:
            self.frame_since = now
        if self.stalled_since is None or self.is_caller:
            self._handle(commands)
        else:  # a loop may deliver one more read after the pause
            self._backlog.extend(commands)
        if self._decoder.failure is not None:
            events.info("connection dropped", peer=self.peer, reason=self._decoder.failure)
            self.close()

    def pause_writing(self) -> None:
        self.stalled_since = self._loop.time()
        if not self.is_caller:
            self._stop_reading()

    def resume_writing(self) -> None:
        self.stalled_since = None
        if self._backlog:
            waiting, self._backlog = self._backlog, deque()
            self._handle(waiting)
        if self._draining:
            self._registry.notice()
        elif self.stalled_since is None and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._registry.discard(self)
        self._out.clear()
        self._backlog.clear()
        self._pending.fail(ConnectionLost(f"the connection to {self.peer} was lost{f': {exc}' if exc else ''}"))
        callbacks, self.on_closed = self.on_closed, []
        for callback in callbacks:
            try:
                callback(self)
            except Exception as error:  # noqa: BLE001 - the edge: one owner's fault must not keep the others from hearing
                events.error("callback failed", error, peer=self.peer)

    # -- inside -----------------------------------------------------------------------------------------------------

    def _handle(self, commands: list[Command] | deque[Command]) -> None:
        self._flush_due = True  # holds back the writes of the handlers: they join the answers of this read
        hot = self._table.hot if self._table.authorize is None else _NOTHING_HOT
        max_in_flight = self._limits.max_in_flight
        left = iter(commands)
        for command in left:
            handler = hot.get(command.code)
            if handler is not None and command.flag == 0 and self.in_flight < max_in_flight:
                self._answer_hot(handler, command)
            elif command.flag & FLAG_RESPONSE:
                self._pending.settle(command)
            else:
                self._answer(command)
            if self._out_bytes > self._limits.write_pause_bytes:
                self._write()
                if self.stalled_since is not None and not self.is_caller:
                    self._backlog.extend(left)
        self._flush()

    def _stop_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def _answer(self, request: Command) -> None:
        if self.in_flight >= self._limits.max_in_flight:
            busy = request.reply(ResponseCode.SYSTEM_BUSY, f"[OVERLOAD]{self.in_flight} requests wait")
            frame: Frame | None = encode_frame(busy)
        else:
            frame = self._table.process(self, request)
        if request.flag & FLAG_ONEWAY:
            return
        if frame is None:
            self.in_flight += 1
        else:
            self._put_frame(frame)

    def _answer_hot(self, handler: Handler, request: Command) -> None:
        try:
            reply = handler(self, request)
        except Exception as error:  # noqa: BLE001 - the table's edge, taken here to save its calls
            reply = refusal(request, error, self)
        if type(reply) is bytes:
            self._out.append(reply)
            self._out_bytes += len(reply)
        elif reply is None:
            self.in_flight += 1
        else:
            self._put_frame(encode_frame(reply) if isinstance(reply, Command) else reply)

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
        self.last_active = self._loop.time()
        if size > len(out) * _LARGE_PART:
            self._transport.writelines(out)
        else:
            self._transport.write(b"".join(out) if len(out) > 1 else out[0])
        if self._transport.get_write_buffer_size() > self._limits.write_max_bytes:
            self.abort("the peer does not read its answers")

    def expire(self, now: float) -> None:
        """Close this connection when one of its three waits is over; called by the registry's scan."""
        limits = self._limits
        if self.stalled_since is not None and now - self.stalled_since > limits.write_stall_seconds:
            self.abort("the peer does not read its answers")
        elif self.frame_since is not None and now - self.frame_since > limits.frame_seconds:
            self.abort("a frame was begun and not finished")
        elif now - self.last_active > limits.idle_seconds:
            events.debug("connection idle", peer=self.peer)
            self.close()


#: Before `connection_made` there is nothing to write to; closing is harmless, anything else is a bug and raises.
class _NotConnected(asyncio.Transport):
    def close(self) -> None:
        return

    abort = close


_NOT_CONNECTED = _NotConnected()
