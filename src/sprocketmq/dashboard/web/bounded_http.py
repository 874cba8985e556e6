"""HTTP for strangers: what a connection may cost a console that does not know yet who comes.

    connections     so many at once; one more is closed
    a request       is whole within some seconds, however slowly its bytes come, and has an end
    all together    of requests that are not whole so many bytes are held; above that the largest goes
    an answer       is read within some seconds

uvicorn bounds the length of a head and the time between two requests. A head or a form that never ends would stay.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sprocketmq.logs import Events

events = Events("sprocketmq.dashboard")

MAX_CONNECTIONS = 512
#: A message of 4 MiB, as a form may encode it.
MAX_REQUEST_BYTES = 16 << 20
MAX_HELD_BYTES = 64 << 20
REQUEST_SECONDS = 30.0
ANSWER_SECONDS = 30.0

_NOT_WHOLE = (h11.IDLE, h11.SEND_BODY)


class BoundedHttp(H11Protocol):
    """`held` is what has come of a request that is not whole."""

    held = 0
    _request_timer: asyncio.TimerHandle | None = None
    _answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._drop(f"more than {MAX_CONNECTIONS} connections")
        else:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._request_is_whole()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in _NOT_WHOLE:
            self.held += len(data)
            self._await_request()
            self._bound()
        else:
            self._request_is_whole()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer_timer = self.loop.call_later(ANSWER_SECONDS, self._drop, "its answer is not read")

    def resume_writing(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None
        super().resume_writing()

    def _await_request(self) -> None:
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self._drop, "a request was not finished")

    def _request_is_whole(self) -> None:
        self.held = 0
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _bound(self) -> None:
        if self.held > MAX_REQUEST_BYTES:
            self._drop(f"a request of more than {MAX_REQUEST_BYTES} bytes")
            return
        begun = [each for each in self.connections if isinstance(each, BoundedHttp)]
        if sum(each.held for each in begun) > MAX_HELD_BYTES:
            largest = max(begun, key=lambda each: each.held)
            largest._drop("requests that are not whole take too much, and its one is the largest")

    def _drop(self, reason: str) -> None:
        events.info("connection dropped", peer=self.client and self.client[0], reason=reason)
        self.held = 0
        self.transport.abort()
