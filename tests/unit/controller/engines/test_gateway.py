"""The HTTP of etcd's gateway, against a server that says what the test wants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from sprocketmq.controller.engines import EngineFailed
from sprocketmq.controller.engines.gateway import Gateway
from sprocketmq.errors import ConfigError


def sized(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(*parts: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


class FakeEtcd:
    """Takes a request for each of `answers`, and keeps it."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.requests: list[tuple[str, Any, str]] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = json.loads(await reader.readexactly(int(fields["Content-Length"])))
        self.requests.append((head.split(" ")[1], body, fields.get("Authorization", "")))
        if self.answers:
            writer.write(self.answers.pop(0))
            await writer.drain()
        writer.close()


@pytest_asyncio.fixture
async def etcd() -> AsyncIterator[FakeEtcd]:
    fake = FakeEtcd()
    yield fake
    await fake.stop()


@pytest.mark.parametrize("answer", [sized(b'{"a":"1"}'), chunked(b'{"a"', b':"1"}'), chunked(b'{"result":{"a":"1"}}')])
async def test_an_answer_in_any_form(etcd: FakeEtcd, answer: bytes) -> None:
    gateway = Gateway([await etcd.start()])
    etcd.answers = [answer]
    assert await gateway.call("/v3/kv/range", {"key": "YQ=="}) == {"a": "1"}
    assert etcd.requests == [("/v3/kv/range", {"key": "YQ=="}, "")]


async def test_the_next_endpoint_is_asked(etcd: FakeEtcd) -> None:
    gateway = Gateway(["127.0.0.1:1", await etcd.start()])
    etcd.answers = [sized(b"{}"), sized(b"{}")]
    assert await gateway.call("/v3/kv/range", {}) == {}
    assert await gateway.call("/v3/kv/range", {}) == {}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n",
        sized(b"<html>not etcd</html>", "502 Bad Gateway"),
        chunked(b"{"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"x" * 100_000,
    ],
)
async def test_what_is_no_answer(etcd: FakeEtcd, answer: bytes) -> None:
    gateway = Gateway([await etcd.start()])
    etcd.answers = [answer]
    with pytest.raises(EngineFailed, match="etcd does not answer"):
        await gateway.call("/v3/kv/range", {})


async def test_etcds_own_errors_are_told(etcd: FakeEtcd) -> None:
    gateway = Gateway([await etcd.start()])
    etcd.answers = [chunked(b'{"error":"no","message":"requested lease not found","code":5}', status="404 Not Found")]
    with pytest.raises(EngineFailed, match="requested lease not found"):
        await gateway.call("/v3/lease/revoke", {"ID": "1"})


async def test_a_token_that_ended_is_asked_for_again(etcd: FakeEtcd) -> None:
    gateway = Gateway([await etcd.start()], user="ops", password="secret")
    expired = sized(b'{"error":"e","message":"etcdserver: invalid auth token","code":16}', "401 Unauthorized")
    etcd.answers = [sized(b'{"token":"t1"}'), sized(b"{}"), expired, sized(b'{"token":"t2"}'), sized(b"{}")]
    await gateway.call("/v3/kv/range", {})
    await gateway.call("/v3/kv/range", {})
    assert etcd.requests[0] == ("/v3/auth/authenticate", {"name": "ops", "password": "secret"}, "")
    assert [token for _, _, token in etcd.requests] == ["", "t1", "t1", "", "t2"]


async def test_a_wrong_password(etcd: FakeEtcd) -> None:
    gateway = Gateway([await etcd.start()], user="ops", password="wrong")
    etcd.answers = [sized(b'{"error":"e","message":"authentication failed","code":3}', "400 Bad Request")]
    with pytest.raises(EngineFailed, match="authentication failed"):
        await gateway.call("/v3/kv/range", {})


async def test_a_stream(etcd: FakeEtcd) -> None:
    gateway = Gateway([await etcd.start()])
    etcd.answers = [chunked(b'{"result":{"created":true}}\n', b'{"result":{"events":[1]}}\n{"result":{}}\n')]
    assert [each async for each in gateway.stream("/v3/watch", {})] == [{"created": True}, {"events": [1]}, {}]
    with pytest.raises(EngineFailed):
        _ = [each async for each in gateway.stream("/v3/watch", {})]


@pytest.mark.parametrize("url", ["ftp://host", "http://", "//"])
def test_an_endpoint_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="etcdEndpoints"):
        Gateway([url])
