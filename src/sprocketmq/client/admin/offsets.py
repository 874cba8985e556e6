"""Moving a group: to a time, to an end of its queues, to an offset, or to where another group is."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Literal

from sprocketmq.client.admin.core import AdminCore
from sprocketmq.client.cluster import queue_offsets
from sprocketmq.client.errors import Refused, is_unknown_code
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol import bodies, headers
from sprocketmq.protocol.message_queue import MessageQueue

Target = Literal["first", "last"] | datetime | int

_BY_HAND = frozenset({int(ResponseCode.CONSUMER_NOT_ONLINE), int(ResponseCode.SYSTEM_ERROR)})


class Offsets:
    def __init__(self, core: AdminCore) -> None:
        self._core = core

    async def get(self, group: str, topic: str) -> dict[MessageQueue, int | None]:
        """What the group has committed in every queue of the topic; None where it has nothing."""
        full, queues = self._core.name(group), (await self._core.route(topic)).read_queues
        instance = self._core.instance
        found = await asyncio.gather(
            *(queue_offsets.committed(instance, full, queue, only_committed=True) for queue in queues)
        )
        return dict(zip(queues, found, strict=True))

    async def preview(self, topic: str, target: Target) -> dict[MessageQueue, int]:
        """Where `reset` would put a group."""
        queues = (await self._core.route(topic)).read_queues
        found = await asyncio.gather(*(self._place(queue, target) for queue in queues))
        return dict(zip(queues, found, strict=True))

    async def reset(
        self, group: str, topic: str, target: Target, *, queue: MessageQueue | None = None
    ) -> dict[MessageQueue, int]:
        """Put the group elsewhere in the topic; returns where. Works for connected groups and for others alike.

        Brokers tell connected consumers themselves. Where they do not, the offsets are committed for the group.
        """
        places = await self.preview(topic, target)
        if queue is not None:
            places = {queue: places[queue]}
        if queue is None and not isinstance(target, int):
            done = await self._by_brokers(group, topic, target)
            if done is not None:
                return {**places, **done}
        for each, offset in places.items():
            await self._commit(group, each, offset)
        return places

    async def clone(self, source: str, target: str, topic: str) -> None:
        """Give `target` the offsets of `source`."""
        header = headers.offsets.CloneGroupOffsetRequestHeader(
            src_group=self._core.name(source), dest_group=self._core.name(target), topic=self._core.name(topic)
        )
        masters = await self._core.topic_masters(topic)
        await self._core.each(masters, lambda address: self._core.call(address, RequestCode.CLONE_GROUP_OFFSET, header))

    async def _by_brokers(self, group: str, topic: str, target: Target) -> dict[MessageQueue, int] | None:
        """None when a broker wants the group to be online, or does not know the request."""
        header = headers.offsets.ResetOffsetRequestHeader(
            group=self._core.name(group), topic=self._core.name(topic), timestamp=_timestamp(target), is_force=True
        )
        masters = await self._core.topic_masters(topic)
        try:
            tables = await self._core.each(
                masters,
                lambda address: self._core.fetch(
                    bodies.offsets.ResetOffsetBody, address, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header
                ),
            )
        except Refused as error:
            if is_unknown_code(error) or error.code in _BY_HAND:
                return None
            raise
        return {queue: offset for table in tables.values() for queue, offset in table.offset_table.items()}

    async def _commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """A broker that has a reset of its own pending ignores commits; it takes a reset to this offset instead."""
        instance, full = self._core.instance, self._core.name(group)
        await queue_offsets.commit(instance, full, queue, offset)
        if await queue_offsets.committed(instance, full, queue) == offset:
            return
        header = headers.offsets.ResetOffsetRequestHeader(
            group=full, topic=queue.topic, queue_id=queue.queue_id, offset=offset, timestamp=-1, is_force=True
        )
        address = await instance.address_of(queue)
        await self._core.call(address, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)

    async def _place(self, queue: MessageQueue, target: Target) -> int:
        instance = self._core.instance
        first, last = await queue_offsets.min_offset(instance, queue), await queue_offsets.max_offset(instance, queue)
        if target == "first":
            return first
        if target == "last":
            return last
        if isinstance(target, int):
            return min(max(target, first), last)
        return await queue_offsets.offset_at(instance, queue, _timestamp(target))


def _timestamp(target: Target) -> int:
    """As the request wants it: -1 is the end."""
    if isinstance(target, datetime):
        return int(target.timestamp() * 1000)
    return 0 if target == "first" else -1
