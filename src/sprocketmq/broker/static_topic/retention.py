"""Items and lists that nobody can need any more go, at the hours of `deleteWhen`, as old log files do.

item    the oldest of a queue that this broker leads, when its physical queue holds no message any more
list    of a queue that this broker led before the one who led before the present leader: that one's list is enough
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.mapping_items import Items
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import BodyError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.mapping import (
    LogicQueueMappingItem,
    TopicConfigAndQueueMapping,
    TopicQueueMappingDetail,
)
from sprocketmq.protocol.bodies.stats import TopicStatsTable
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.store.files.clock import Clock

events = Events("sprocketmq.broker.static_topic")

#: Seconds between two looks at the clock.
CLEAN_SECONDS = 300.0

#: Asks the broker of that name.
Call = Callable[[str, Command], Awaitable[Command]]
Queues = dict[int, tuple[LogicQueueMappingItem, ...]]


class MappingCleaner:
    def __init__(self, settings: Settings, mappings: QueueMappings, call: Call, clock: Clock) -> None:
        self._settings = settings
        self._mappings = mappings
        self._call = call
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Clean in the background, when it is time and nothing is being cleaned."""
        hour = datetime.fromtimestamp(self._clock.now_ms() / 1000).hour
        is_idle = self._task is None or self._task.done()
        if self._mappings.details and is_idle and hour in self._settings.store.delete_hours:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        for topic in list(self._mappings.details):
            try:
                await self.clean(topic)
            except (RequestRefused, BodyError) as error:  # a broker that is away; tomorrow is another day
                events.warning("mapping not cleaned", topic=topic, reason=error)
            except Exception as error:  # noqa: BLE001 - the edge of the task: the other topics have their turn
                events.error("mapping not cleaned", error, topic=topic)

    async def clean(self, topic: str) -> None:
        detail = self._mappings.details[topic]
        left: Queues = {}
        for queue_id, items in detail.hosted_queues.items():
            is_led = bool(items) and items[-1].bname == detail.bname
            if is_led:
                is_empty = len(items) > 1 and await self._is_empty(topic, items[0])
                left[queue_id] = tuple(items[1:] if is_empty else items)
            elif not await self._is_superseded(detail, queue_id, items):
                left[queue_id] = tuple(items)
        if left != detail.hosted_queues and self._mappings.details.get(topic) is detail:
            self._mappings.keep_only(topic, left)

    async def _is_empty(self, topic: str, item: LogicQueueMappingItem) -> bool:
        """Whether the physical queue of an item has messages no more."""
        reply = await self._ask(item.bname, RequestCode.GET_TOPIC_STATS_INFO, topic, "false")
        stats = codec.decode(TopicStatsTable, reply.body)
        queue = stats.offset_table.get(MessageQueue(topic, item.bname, item.queue_id))
        return queue is not None and queue.max_offset in (0, queue.min_offset)

    async def _is_superseded(self, detail: TopicQueueMappingDetail, queue_id: int, items: Items) -> bool:
        """Whether the one who leads after this broker, as far as it knows, leads no longer and has told the next."""
        if not items:
            return True
        reply = await self._ask(items[-1].bname, RequestCode.GET_TOPIC_CONFIG, detail.topic, "true")
        after = codec.decode(TopicConfigAndQueueMapping, reply.body).mapping_detail
        if after is None or after.epoch != detail.epoch or after.total_queues != detail.total_queues:
            return False
        known_there = after.hosted_queues.get(queue_id, ())
        return bool(known_there) and known_there[-1].bname != items[-1].bname

    async def _ask(self, broker_name: str, code: int, topic: str, lo: str) -> Command:
        fields = {"topic": topic, "lo": lo, "bname": broker_name}
        reply = await self._call(broker_name, Command(code, ext_fields=fields))
        if reply.code != ResponseCode.SUCCESS:
            raise RequestRefused(reply.code, f"broker {broker_name}: {reply.remark}")
        return reply
