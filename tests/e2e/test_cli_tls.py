"""`--tls`: the commands talk to a nameserver behind TLS, and only when its certificate is trusted."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.commands import rows, sprocket

from sprocketmq.testing import EmbeddedCluster


class TlsFront:
    """Takes TLS, and passes what it gets on to a plain server."""

    def __init__(self, target: str, certificate: tuple[Path, Path]) -> None:
        self._host, _, port = target.partition(":")
        self._port = int(port)
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(*certificate)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.address = ""

    def __enter__(self) -> TlsFront:
        self._thread.start()
        serving = asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result(30)
        self.address = f"localhost:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(self._host, self._port)
        try:
            await asyncio.gather(_pass(reader, inner_writer), _pass(inner_reader, writer))
        finally:
            for each in (writer, inner_writer):
                each.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@pytest.fixture(scope="module")
def front(certificate: tuple[Path, Path]) -> Iterator[TlsFront]:
    with EmbeddedCluster() as cluster, TlsFront(cluster.nameserver, certificate) as running:
        yield running


def test_a_certificate_that_is_trusted(front: TlsFront, certificate: tuple[Path, Path]) -> None:
    assert rows(front.address, "topic", "list", "--all", "--tls", "--tls-ca", certificate[0])
    assert rows(front.address, "topic", "list", "--all", "--tls", "--tls-no-verify")


def test_one_that_is_not(front: TlsFront) -> None:
    done = sprocket(front.address, "topic", "list", "--all", "--tls")
    assert (done.returncode, b"certificate" in done.stderr) == (1, True)
