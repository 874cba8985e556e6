from __future__ import annotations

import asyncio

import pytest

from sprocketmq.errors import RequestTimeout
from sprocketmq.remoting.pending_calls import PendingCalls


async def test_the_owner_is_told_how_long_each_call_was_given() -> None:
    pending, overdue = PendingCalls(asyncio.get_running_loop()), list[float]()
    pending.on_overdue = lambda _started, timeout: overdue.append(timeout)
    futures = [pending.add(timeout)[1] for timeout in (0.0, 0.001, 60)]
    for future in futures[:2]:
        with pytest.raises(RequestTimeout):
            await future
    assert overdue == pytest.approx([0.0, 0.001])
    assert (len(pending), futures[2].done()) == (1, False)
