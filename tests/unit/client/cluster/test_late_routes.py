from __future__ import annotations

import asyncio
import gc

import pytest
from tests.unit.client.fakes import NAMESERVER, FakeTransport

from sprocketmq.client.cluster.routes import RouteCache
from sprocketmq.client.cluster.transport import NameServers
from sprocketmq.client.errors import Unreachable
from sprocketmq.protocol.command import Command


async def test_a_failure_that_nobody_waits_for_any_more_is_no_traceback() -> None:
    answer = asyncio.Event()

    class Late(FakeTransport):
        async def call(self, address: str, command: Command, timeout: float) -> Command:
            await answer.wait()
            raise Unreachable(address, "too late")

    unseen: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
    table = RouteCache(NameServers((NAMESERVER,), Late({})))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(table.fetch("T"), 0.01)
    (fetching,) = table._fetching.values()
    answer.set()
    await asyncio.wait([fetching])
    del fetching
    gc.collect()
    await asyncio.sleep(0)
    assert unseen == []
