"""A stranger: a plain socket that sends frames, from whatever loopback address it likes.

Servers here have `adminAllowLocal=false`, so that 127.0.0.1 is as far away as any other machine; the healthy peers have
addresses that the servers' lists name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from tests.unit.broker.support import make_broker

from sprocketmq.broker.broker import Broker
from sprocketmq.config import from_properties
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.signing import with_signature

STRANGER, FRIEND = "127.0.0.1", "127.0.0.2"
PATIENCE = 60.0


class Stranger:
    """`keys` are those that whoever comes from an address signs with, where there are accounts."""

    keys: ClassVar[dict[str, tuple[str, str]]] = {}

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._decoder = FrameDecoder(1 << 30)
        self._opaque = 0
        self._answers: dict[int, Command] = {}
        self._keys: tuple[str, str] | None = None

    @classmethod
    async def connect(cls, port: int, source: str = STRANGER) -> Stranger:
        made = cls(*await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0)))
        made._keys = cls.keys.get(source)
        return made

    async def __call__(self, code: int, body: bytes = b"", /, **fields: object) -> Command:
        return await self.answer(self.tell(code, fields, body))

    def tell(self, code: int, fields: Mapping[str, object] | None = None, body: bytes = b"", flag: int = 0) -> int:
        """Send a request without a wait for its answer; its number."""
        self._opaque += 1
        ext = {
            key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in (fields or {}).items()
        }
        if self._keys is not None:
            ext = with_signature(ext, body, access_key=self._keys[0], secret_key=self._keys[1])
        self.writer.write(encode_frame(Command(code, opaque=self._opaque, flag=flag, ext_fields=ext, body=body)))
        return self._opaque

    async def answer(self, opaque: int) -> Command:
        async with asyncio.timeout(PATIENCE):
            while opaque not in self._answers:
                data = await self.reader.read(1 << 16)
                assert data, "the server has closed the connection"
                for command in self._decoder.feed(data):
                    if command.is_response:
                        self._answers[command.opaque] = command
        return self._answers.pop(opaque)

    async def is_dropped(self) -> bool:
        """Whether the server ends the connection; True as soon as it does."""
        try:
            async with asyncio.timeout(PATIENCE):
                while await self.reader.read(1 << 16):
                    pass
        except ConnectionError:
            pass
        return True

    def close(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def strangers(port: int, *sources: str) -> AsyncIterator[list[Stranger]]:
    """One for each address."""
    connected = [await Stranger.connect(port, source) for source in sources]
    try:
        yield connected
    finally:
        for each in connected:
            each.close()


@asynccontextmanager
async def nameserver_among_strangers(folder: Path, **entries: str) -> AsyncIterator[Nameserver]:
    settings = {
        "bindAddress": "127.0.0.1", "listenPort": "0", "kvConfigPath": str(folder / "kv.json"),
        "configStorePath": str(folder / "namesrv.properties"), "adminAllowLocal": "false", "adminAllowFrom": FRIEND,
        "brokerAllowFrom": FRIEND, **entries,
    }  # fmt: skip
    nameserver = Nameserver(from_properties(NameserverConfig, settings))
    await nameserver.start()
    try:
        yield nameserver
    finally:
        await nameserver.stop()


@asynccontextmanager
async def broker_among_strangers(folder: Path, **entries: str) -> AsyncIterator[Broker]:
    settings = {"adminAllowLocal": "false", "adminAllowFrom": FRIEND, **entries}
    broker = make_broker(folder / "store", None, None, **settings)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()
