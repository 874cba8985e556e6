"""etcd's JSON gateway over HTTP/1.1: `POST /v3/kv/txn` and its like, nothing but asyncio.

Keys and values are base64 in JSON, 64-bit numbers are strings, false and 0 are left out. A connection serves one call:
there are a few calls a second at most. An endpoint that does not answer is followed by the next one; whoever calls
must therefore ask in a way that can be asked twice.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import orjson

from sprocketmq.controller.engines import EngineFailed
from sprocketmq.errors import ConfigError

_MAX_ANSWER_BYTES = 64 * 1024 * 1024
_UNAUTHENTICATED = 16  # gRPC's number
_DEFAULT_PORT = 2379

Answer = dict[str, Any]


class Gateway:
    """`timeout` is for one try at one endpoint."""

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        user: str = "",
        password: str = "",
        ssl: tls.SSLContext | None = None,
        timeout: float = 1.0,
    ) -> None:
        self._endpoints = [_endpoint(each) for each in endpoints]
        self._credentials = {"name": user, "password": password} if user else None
        self._ssl = ssl or tls.create_default_context()
        self._timeout = timeout
        self._token = ""

    async def call(self, path: str, body: Answer) -> Answer:
        """The answer of the first endpoint that gives one; EngineFailed when none does."""
        failures = []
        for _ in tuple(self._endpoints):
            try:
                async with asyncio.timeout(self._timeout):
                    return await self._authenticated(path, body)
            except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:  # a timeout is an OSError too
                failures.append(f"{self._endpoints[0][0]}: {error or type(error).__name__}")
                self._endpoints.append(self._endpoints.pop(0))  # this one is asked last from now on
        raise EngineFailed(f"etcd does not answer: {'; '.join(failures)}")

    async def stream(self, path: str, body: Answer) -> AsyncIterator[Answer]:
        """The answers of a call that goes on, until the caller has enough."""
        try:
            async with self._sent(path, body) as reader:
                while (chunk := await _chunk(reader)) is not None:
                    for line in chunk.splitlines():
                        yield orjson.loads(line).get("result", {})
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise EngineFailed(f"etcd: {error or type(error).__name__}") from None

    async def _authenticated(self, path: str, body: Answer) -> Answer:
        if self._credentials is not None and not self._token:
            await self._authenticate()
        answer = await self._exchange(path, body)
        if answer.get("code") == _UNAUTHENTICATED and self._credentials is not None:  # tokens end
            await self._authenticate()
            answer = await self._exchange(path, body)
        if "error" in answer:
            raise EngineFailed(f"etcd: {answer.get('message') or answer['error']}")
        return answer

    async def _authenticate(self) -> None:
        self._token = ""
        answer = await self._exchange("/v3/auth/authenticate", self._credentials or {})
        if "token" not in answer:
            raise EngineFailed(f"etcd: {answer.get('message', 'no token')}")
        self._token = str(answer["token"])

    async def _exchange(self, path: str, body: Answer) -> Answer:
        async with self._sent(path, body) as reader:
            parts, size = [], 0
            while (chunk := await _chunk(reader)) is not None:
                size += len(chunk)
                if size > _MAX_ANSWER_BYTES:
                    raise ValueError("the answer is too long")
                parts.append(chunk)
        answer: Answer = orjson.loads(b"".join(parts))
        result: Answer = answer.get("result", answer)  # a stream of one, such as a keepalive, is wrapped
        return result

    @asynccontextmanager
    async def _sent(self, path: str, body: Answer) -> AsyncIterator[asyncio.StreamReader]:
        """The answer's body, behind its head."""
        host, port, secure = self._endpoints[0]
        ssl = self._ssl if secure else None
        reader, writer = await asyncio.open_connection(host, port, ssl=ssl)
        try:
            writer.write(_request(f"{host}:{port}", path, orjson.dumps(body), self._token))
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            if b"transfer-encoding: chunked" not in head.lower():
                reader = _unchunked(head, await _sized(head, reader))
            yield reader
        finally:
            writer.close()


def _endpoint(url: str) -> tuple[str, int, bool]:
    parts = urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"etcdEndpoints={url!r}: expected http://HOST:PORT or https://HOST:PORT")
    return parts.hostname, parts.port or _DEFAULT_PORT, parts.scheme == "https"


def _request(host: str, path: str, body: bytes, token: str) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *([f"Authorization: {token}"] if token else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _sized(head: bytes, reader: asyncio.StreamReader) -> bytes:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
            if size > _MAX_ANSWER_BYTES:
                raise ValueError("the answer is too long")
            return await reader.readexactly(size)
    raise ValueError(head.split(b"\r\n")[0].decode(errors="replace"))


def _unchunked(head: bytes, body: bytes) -> asyncio.StreamReader:
    """A body of known size in the form that is read here; without JSON it is not etcd that answered."""
    if not body.startswith(b"{"):
        raise ValueError(head.split(b"\r\n")[0].decode(errors="replace"))
    reader = asyncio.StreamReader()
    reader.feed_data(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
    reader.feed_eof()
    return reader


async def _chunk(reader: asyncio.StreamReader) -> bytes | None:
    size = int((await reader.readline()).split(b";")[0] or b"0", 16)
    if size == 0:
        return None
    if size > _MAX_ANSWER_BYTES:
        raise ValueError("the answer is too long")
    data = await reader.readexactly(size)
    await reader.readexactly(2)
    return data
