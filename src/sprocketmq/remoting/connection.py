"""One connection, the same for both sides: `asyncio.Protocol` around the frame codec.

    life    made, drained, closed or lost; its four waits are looked at by the registry's scan: a peer that sends
            nothing, a handshake or a frame that is begun and not finished, a peer that reads nothing
    call    a request of ours waits in `_pending` for the response with its opaque; answers come in any order; one that
            stays without, while the peer has sent nothing at all since, ends the connection: it is dead, and a new one
            may not be
    the traffic itself is in traffic.py

A connection belongs to one event loop, and nothing here blocks.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from sprocketmq.codes import FLAG_ONEWAY
from sprocketmq.errors import ConnectionLost
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting.handlers import ProcessorTable, Reply, Steps
from sprocketmq.remoting.peer import Peer, peer_of
from sprocketmq.remoting.tls.layer import OnOpen, TlsTransport
from sprocketmq.remoting.traffic import Traffic
from sprocketmq.remoting.turns import LongRequest

if TYPE_CHECKING:
    from sprocketmq.remoting.connections import ConnectionRegistry

events = Events("sprocketmq.remoting.connection")

#: Why a connection has ended that nobody used: no news.
IDLE = "idle"
#: A call that had less time than this says nothing about its connection.
_PATIENCE_S = 0.1


class Connection(Traffic, asyncio.Protocol):
    """`attributes` is the owner's: what a broker knows of the client behind this connection.

    `peer` is who it counts as, where that is not whoever the socket says.
    """

    def __init__(
        self, table: ProcessorTable, registry: ConnectionRegistry, *, is_caller: bool = False, peer: Peer | None = None
    ) -> None:
        super().__init__(table, registry.limits, is_caller, registry.held)
        self.attributes: dict[str, Any] = {}
        self.on_closed: list[Callable[[Connection], None]] = []
        #: Called once, when the peer has read so much of its answers that more may be written.
        self.on_writable: list[Callable[[], None]] = []
        self._registry = registry
        self._owes = False  # it was charged, and has not rested for it yet
        self._resting: asyncio.TimerHandle | None = None
        self._named = peer  # by a proxy that is trusted
        self.end_reason = ""  # of a connection that has ended
        self.is_encrypted = False
        #: Who the peer is by a certificate that was verified; accounts may take it as an identity.
        self.certificate_name: str | None = None
        self._handshake_since: float | None = None
        self._tls: TlsTransport | None = None

    # -- what owners use ------------------------------------------------------------------------------------------

    def request(self, command: Command, timeout: float) -> asyncio.Future[Command]:
        """Send a request; the future brings its response, RequestTimeout or ConnectionLost."""
        if self.closed:
            why = f": {self.end_reason}" if self.end_reason else ""
            raise ConnectionLost(f"the connection to {self.peer} is closed{why}")
        command.opaque, future = self._pending.add(timeout)
        try:
            frame = encode_frame(command)
        except BaseException:
            future.cancel()  # nobody answers what was never written
            raise
        self._put(frame)
        return future

    async def call(self, command: Command, timeout: float) -> Command:
        return await self.request(command, timeout)

    def send(self, command: Command) -> None:
        """Send a oneway request: nobody answers it. On a closed connection it is dropped, as on a broken wire."""
        command.opaque = self._pending.next_opaque()
        command.flag |= FLAG_ONEWAY
        self._put(encode_frame(command))

    def drain(self) -> None:
        """Read no more requests; those that were read are still answered."""
        self.draining = True
        self.stop_reading()
        if self._resting is not None:
            self._resting.cancel()
            self.take_turn()

    @property
    def unread_bytes(self) -> int:
        """What was written and the peer's machine has not taken yet."""
        return 0 if self._transport.is_closing() else self._transport.get_write_buffer_size()

    @property
    def is_settled(self) -> bool:
        """Nothing is owed to the peer: every request that was read is answered."""
        return self.closed or not (self.in_flight > 0 or self._backlog or self.awaits_turn)

    # -- turns of the loop ------------------------------------------------------------------------------------------

    def do_in_turns(self, request: Command, steps: Steps) -> Reply:
        """The reply to a long request; None when its steps take more than one turn."""
        return LongRequest(self, request, steps).begin()

    def await_turn(self, go_on: Callable[[], object]) -> None:
        self.awaits_turn = True
        self.stop_reading()
        self._registry.held.turns.wait(go_on)

    def notice_answer(self) -> None:
        self._registry.notice()

    def take_turn(self) -> None:
        self.awaits_turn = False
        self._resting = None
        if self.closed:
            return
        self._charge()
        if self._rests():
            return
        self._do_backlog()
        self.close_damaged()
        if self.draining:
            self._registry.notice()
        self.go_on_reading()

    def pay(self) -> None:
        self._charge()
        if not self.awaits_turn:
            self._rests()

    def rest(self, seconds: float) -> None:
        """Read nothing and do nothing more for so long, or until the server stops."""
        if self.draining:
            return
        self.awaits_turn = True
        self.stop_reading()
        self._registry.costs.rests += 1
        self._resting = self._loop.call_later(seconds, self.take_turn)

    def _charge(self) -> None:
        cost_ns, self.cost_ns = self.cost_ns, 0
        if cost_ns and not self.is_caller:
            self._registry.costs.charge(self.peer.host, cost_ns, self._loop.time())
            self._owes = True

    def _rests(self) -> bool:
        """Whether it has to rest; asked again after each rest, for others of its address may have been charged."""
        if self._owes:
            seconds = self._registry.costs.rest_of(self.peer.host, self._loop.time())
            self._owes = seconds > 0 and not self.draining
            if self._owes:
                self.rest(seconds)
        return self._owes

    def _may_go_on(self) -> bool:
        return not self.awaits_turn and (self.stalled_since is None or self.is_caller)

    def _do_backlog(self) -> None:
        if self._backlog and self._may_go_on():
            waiting, self._backlog = self._backlog, []
            self._handle(waiting)

    # -- what the event loop calls --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's is one by its methods only
        names = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self.peer = self._pending.peer = self._named or peer_of(*names)
        self.last_active = self._loop.time()
        if self.is_caller:
            self._pending.on_overdue = self._overdue
        transport.set_write_buffer_limits(high=self._limits.write_pause_bytes)
        if (raw := transport.get_extra_info("socket")) is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if (reason := self._registry.add(self)) is not None:
            self.abort(reason)

    def pause_writing(self) -> None:
        self.stalled_since = self._loop.time()
        if not self.is_caller:
            self.stop_reading()

    def resume_writing(self) -> None:
        self.stalled_since = None
        self._do_backlog()
        writable, self.on_writable = self.on_writable, []
        for callback in writable:
            callback()
        if self.draining:
            self._registry.notice()
        else:
            self.go_on_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.end_reason = self.end_reason or str(exc or "closed by the peer")
        self._registry.discard(self)
        if self._decoder.passed_limit:
            self._registry.refused[self._decoder.passed_limit] += 1
        self.release()
        if self._tls is not None and not self.is_known:
            self.cost_ns += self._tls.handshake_ns
        self._charge()
        if self._resting is not None:
            self._resting.cancel()
        self._out.clear()
        self._backlog.clear()
        self.on_writable.clear()
        self._pending.fail(ConnectionLost(f"the connection to {self.peer} was lost{f': {exc}' if exc else ''}"))
        callbacks, self.on_closed = self.on_closed, []
        for callback in callbacks:
            try:
                callback(self)
            except Exception as error:  # noqa: BLE001 - the edge: one owner's fault must not keep the others from hearing
                events.error("callback failed", error, peer=self.peer)

    def expire(self, now: float) -> None:
        """Close this connection when one of its waits is over; called by the registry's scan."""
        limits = self._limits
        if self.stalled_since is not None and now - self.stalled_since > limits.write_stall_seconds:
            self._registry.refused["unread answers"] += 1
            self.abort("the peer does not read its answers")
        elif self.frame_since is not None and now - self.frame_since > limits.frame_seconds:
            self._registry.refused["unfinished frames"] += 1
            self.abort("a frame was begun and not finished")
        elif self._handshake_since is not None and now - self._handshake_since > limits.handshake_seconds:
            self._registry.refused["handshakes"] += 1
            self.abort("a TLS handshake was begun and not finished")
        elif now - self.last_active > limits.idle_seconds:
            events.debug("connection idle", peer=self.peer)
            self.end_reason = IDLE
            self.close()

    # -- what TLS calls -----------------------------------------------------------------------------------------------

    def begin_handshake(self) -> None:
        if self._handshake_since is None:
            self._handshake_since = self._loop.time()

    def begin_tls(
        self, context: ssl.SSLContext, on_open: OnOpen, *, server_name: str | None = None, data: bytes = b""
    ) -> None:
        """Shake hands, as the one who calls `server_name` or as the one who is called; `data` was read already."""
        self.begin_handshake()
        wait = None if self.is_caller else self._await_tls
        self._tls = TlsTransport(context, self._transport, self, on_open, server_name=server_name, wait=wait)
        self._tls.begin(data)

    def _await_tls(self, go_on: Callable[[], object], cost_ns: int = 0) -> None:
        """Go on with TLS in a later turn, when the address has earned this and what others of it have cost."""
        if self.closed:
            return
        now, costs = self._loop.time(), self._registry.costs
        if cost_ns:
            costs.charge(self.peer.host, cost_ns, now)
        self.stop_reading()
        if (seconds := costs.rest_of(self.peer.host, now)) > 0:
            costs.rests += 1
            self._loop.call_later(seconds, self._await_tls, go_on)
        else:
            self._registry.held.turns.wait(lambda: self._go_on_with_tls(go_on))

    def _go_on_with_tls(self, go_on: Callable[[], object]) -> None:
        self.go_on_reading()
        go_on()

    def end_handshake(self, transport: asyncio.Transport, certificate_name: str | None) -> None:
        """From here on it talks through `transport`."""
        self._handshake_since = None
        self._transport = transport
        self.is_encrypted, self.certificate_name = True, certificate_name

    def refuse(self, reason: str) -> None:
        """Close, once what says why is out; one line in the log, whatever else ends it meanwhile."""
        if not self.end_reason:
            self.end_reason = reason
            self._registry.refused["handshakes"] += 1
            events.info("connection refused", peer=self.peer, reason=reason)
        self._transport.close()

    def abort(self, reason: str) -> None:
        self.end_reason = reason
        super().abort(reason)

    def drop(self, reason: str) -> None:
        """Drop the connection, and what it holds of an unfinished frame, now: others need the room."""
        self.abort(reason)
        self._decoder.drop()
        self.release()

    def silent_for(self) -> float:
        """Seconds for which calls have waited whose answers are due at once, and nothing has come; 0 when none does."""
        waiting_since = self._pending.prompt_since()
        return 0.0 if waiting_since is None else self._loop.time() - max(waiting_since, self.last_active)

    def give_up(self, reason: str) -> None:
        """Closed at once: whoever waits here may try again now."""
        self.closed = True
        self.abort(reason)

    def _overdue(self, started: float, timeout: float) -> None:
        """A call that was made at `started` has had no answer in time."""
        if self.last_active <= started and timeout >= _PATIENCE_S:
            self.give_up("a request had no answer, and nothing else came")

    def stop_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def go_on_reading(self) -> None:
        """Unless there is another reason not to."""
        if self._may_go_on() and not self.draining and not self._transport.is_closing():
            self._transport.resume_reading()
