from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from sprocketmq.broker.static_topic.loopback import ask_inside
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, ProcessorTable, Reply

CODE = 11


async def test_a_request_that_cannot_be_answered_is_not_waited_for() -> None:
    """Its client keeps its connection, and is told."""
    parked: list[Connection] = []

    def park(connection: Connection, _request: Command) -> Reply:
        parked.append(connection)
        return None

    table = ProcessorTable()
    table.add(CODE, park)
    client = cast(Connection, SimpleNamespace(peer="a peer", session=None, attributes={}, closed=False))
    asked = asyncio.ensure_future(ask_inside(table, client, Command(CODE)))
    await asyncio.sleep(0)
    parked[0].abort("nobody expects it")
    with pytest.raises(RequestRefused, match="nobody expects it"):
        await asked
