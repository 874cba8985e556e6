"""Requests sent as messages that wait for a message in reply, by correlation id."""

from __future__ import annotations

import asyncio

from sprocketmq.client.errors import TimedOut
from sprocketmq.client.received import inflate
from sprocketmq.protocol import headers
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.record.properties import decode_properties


class Reply:
    """What came back: a body and properties."""

    __slots__ = ("body", "properties", "topic")

    def __init__(self, topic: str, body: bytes, properties: dict[str, str]) -> None:
        self.topic, self.body, self.properties = topic, body, properties

    def __repr__(self) -> str:
        return f"<Reply {self.topic} {len(self.body)} bytes>"


class PendingReplies:
    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Reply]] = {}

    def expect(self, correlation_id: str) -> asyncio.Future[Reply]:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = future
        future.add_done_callback(lambda _: self._waiting.pop(correlation_id, None))
        return future

    def resolve(self, request: Command) -> bool:
        """False when nobody waits for it (any more)."""
        header = from_ext_fields(headers.send.ReplyMessageRequestHeader, request.ext_fields)
        properties = decode_properties(header.properties or "")
        future = self._waiting.get(properties.get("CORRELATION_ID", ""))
        if future is None or future.done():
            return False
        future.set_result(Reply(header.topic, inflate(request.body, header.sys_flag), properties))
        return True

    async def wait(self, future: asyncio.Future[Reply], timeout: float, asked: float) -> Reply:
        """For `timeout` seconds, which are left of the `asked` ones."""
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError:
            raise TimedOut(f"no reply within {asked:g} s") from None
