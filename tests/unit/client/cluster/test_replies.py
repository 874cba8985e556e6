from __future__ import annotations

import asyncio

import pytest

from sprocketmq.client.cluster.replies import PendingReplies, Reply
from sprocketmq.client.errors import TimedOut


async def test_who_waits_in_vain_hears_the_time_that_was_asked_for() -> None:
    """And not what was left of it when the request had been sent."""
    never: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    with pytest.raises(TimedOut, match=r"no reply within 1 s$"):
        await PendingReplies().wait(never, 0.001, 1.0)
