from __future__ import annotations

import asyncio
from typing import Any, cast

from sprocketmq.client.cluster.queue_offsets import commit_all
from sprocketmq.protocol.message_queue import MessageQueue


class Apache:
    """A broker that makes its table of a group and topic with the first commit, whether or not another has."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, int]] = {}

    async def address_of(self, queue: MessageQueue) -> str:
        return queue.broker_name

    async def call(self, _address: str, _code: int, header: Any) -> None:
        table = self.tables.get(header.topic)
        await asyncio.sleep(0)  # as a thread may be interrupted
        if table is None:
            table = self.tables[header.topic] = {}
        table[header.queue_id] = header.commit_offset


async def test_first_commits_of_a_group_are_all_kept() -> None:
    apache = Apache()
    wanted = {MessageQueue(topic, "broker-a", number): number + 1 for topic in ("A", "B") for number in range(4)}
    assert await commit_all(cast(Any, apache), "g", wanted) == {}
    assert apache.tables == {topic: {0: 1, 1: 2, 2: 3, 3: 4} for topic in ("A", "B")}
