"""Parts of a page that go on by themselves: server-sent events with the part's new text whenever it has changed.

    data: "<p>..."                 the part anew
    event: away  data: "why"       the cluster does not answer: what the page shows is old

A stream ends when its page is closed, so that nothing is asked of the cluster for nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import orjson
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from sprocketmq.errors import SprocketError

EVERY_S = 2.0
#: A proxy between us may close what is silent.
_WORD_S = 20.0
_MOST_STREAMS = 128


class LiveParts:
    def __init__(self, every: float = EVERY_S) -> None:
        self._every = every
        self._open = 0
        self._stopping = asyncio.Event()

    @property
    def watching(self) -> int:
        """How many parts of pages are looked at now."""
        return self._open

    def stop(self) -> None:
        self._stopping.set()

    def stream(self, make: Callable[[], Awaitable[str]], is_allowed: Callable[[], bool] = lambda: True) -> Response:
        """Until the page is closed, the console stops, or whoever looks may not any more."""
        if self._open >= _MOST_STREAMS:
            return PlainTextResponse("too many pages are open\n", 503)
        return StreamingResponse(self._events(make, is_allowed), media_type="text/event-stream")

    async def _events(self, make: Callable[[], Awaitable[str]], is_allowed: Callable[[], bool]) -> AsyncIterator[bytes]:
        self._open += 1
        try:
            last, silent = b"", 0.0
            while not self._stopping.is_set() and is_allowed():
                event = await _event(make)
                if event != last:
                    last, silent = event, 0.0
                    yield event
                elif silent >= _WORD_S:
                    silent = 0.0
                    yield b": still here\n\n"
                silent += self._every
                await self._rest()
        finally:
            self._open -= 1

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self._every):
                await self._stopping.wait()
        except TimeoutError:
            return


async def _event(make: Callable[[], Awaitable[str]]) -> bytes:
    """The page keeps what it last showed while the cluster does not answer, and says so."""
    try:
        return b"data: " + orjson.dumps(await make()) + b"\n\n"
    except SprocketError as error:
        return b"event: away\ndata: " + orjson.dumps(f"The cluster does not answer: {error}.") + b"\n\n"
