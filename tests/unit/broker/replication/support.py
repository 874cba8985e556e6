"""A socket that speaks RocketMQ's default stream by hand, and waiting for what the brokers do by themselves."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

from sprocketmq.broker.broker import Broker


async def until(condition: Callable[[], bool], pause: float = 0.01) -> None:
    """For what no event tells of; with no `pause` also while a test holds the clock."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the brokers have no events for tests
            await asyncio.sleep(pause)


async def follows(slave: Broker, master: Broker) -> None:
    """The slave has the whole log, and the master knows it."""
    links = master.replication.master.replicas.links
    await until(lambda: any(link.ack == master.store.log.max_offset for link in links))
    await until(lambda: slave.store.log.max_offset == master.store.log.max_offset)


class HandSlave:
    """Reports what a test says, and reads frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, master: Broker) -> HandSlave:
        return cls(*await asyncio.open_connection("127.0.0.1", master.replication.master.port))

    def report(self, offset: int) -> None:
        self.writer.write(struct.pack(">q", offset))

    async def frame(self) -> tuple[int, bytes]:
        async with asyncio.timeout(60):
            offset, size = struct.unpack(">qi", await self.reader.readexactly(12))
            return offset, await self.reader.readexactly(size)

    async def log(self, end: int) -> bytes:
        """The bytes up to `end`, from wherever the master begins."""
        data, offset = b"", -1
        while offset < end:
            offset, body = await self.frame()
            data += body
            offset += len(body)
        return data

    async def is_closed(self) -> bool:
        async with asyncio.timeout(60):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
        return True

    def close(self) -> None:
        self.writer.close()
