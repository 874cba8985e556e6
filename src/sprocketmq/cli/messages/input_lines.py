"""The lines of the standard input, as they come: `tail -f log | sprocket send T` sends each when it is written.

A thread reads, so that the event loop goes on meanwhile. It reads the descriptor itself: a ^C then ends the program at
once, where a thread inside a buffered read would hold it up.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import IO

from sprocketmq.errors import ConfigError

_CHUNK = 1 << 16
_AHEAD = 16
#: A line that has no end would fill the memory; no message is as long as this with its key.
MAX_LINE_BYTES = 5 * 1024 * 1024


async def input_lines(stream: IO[bytes] | None = None) -> AsyncIterator[bytes]:
    """Without their line ends. The last one need not have an end."""
    rest, number = b"", 1
    async for chunk in _chunks(stream or sys.stdin.buffer):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r")
        number += len(whole)
        if len(rest) > MAX_LINE_BYTES:
            raise ConfigError(f"line {number}: more than {MAX_LINE_BYTES} bytes")
    if rest:
        yield rest.removesuffix(b"\r")


async def _chunks(stream: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        fd = stream.fileno()
    except (AttributeError, io.UnsupportedOperation):  # not a file
        yield stream.read()
        return
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue(_AHEAD)
    threading.Thread(target=_read, args=(fd, loop, chunks), name="standard input", daemon=True).start()
    while chunk := await chunks.get():
        if isinstance(chunk, OSError):
            raise chunk
        yield chunk


def _read(fd: int, loop: asyncio.AbstractEventLoop, chunks: asyncio.Queue[bytes | OSError]) -> None:
    """Until the end, which is an empty chunk; waits while the loop is behind."""
    chunk: bytes | OSError = b"-"
    while chunk and not isinstance(chunk, OSError):
        try:
            chunk = os.read(fd, _CHUNK)
        except OSError as error:
            chunk = error
        putting = chunks.put(chunk)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        except (RuntimeError, asyncio.CancelledError):  # the loop has ended
            putting.close()
            return
