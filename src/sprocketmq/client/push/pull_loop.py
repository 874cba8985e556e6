"""One task per assigned queue: pulls ahead of the handlers, as far as flow control allows."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from sprocketmq.client.cluster import queue_offsets, unreadable_records
from sprocketmq.client.cluster.pull_request import OutgoingPull, PullResult, PullStatus, pull
from sprocketmq.client.cluster.route import MASTER
from sprocketmq.client.errors import ClientError, Refused, TimedOut, Unreachable
from sprocketmq.client.push.context import Running
from sprocketmq.client.push.process_queue import ProcessQueue
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import SQL92, is_retry_topic

log = logging.getLogger("sprocketmq.client.push.pull_loop")

_FLOW_CONTROL_S = 0.02
_UNKNOWN_HERE = frozenset({int(ResponseCode.SUBSCRIPTION_NOT_EXIST), int(ResponseCode.SUBSCRIPTION_NOT_LATEST)})


class PullLoop:
    def __init__(self, running: Running, queue: ProcessQueue, arrived: Callable[[ProcessQueue], None]) -> None:
        self._running, self._queue, self._arrived = running, queue, arrived
        self._subscription = running.subscriptions[queue.queue.topic]
        self._broker_id = MASTER
        self._offset = 0

    async def run(self) -> None:
        """Until the queue is dropped."""
        queue, settings = self._queue, self._running.settings
        self._offset = await self._start_offset()
        queue.start_at(self._offset)
        while await self._may_pull():
            try:
                await self._pull()
            except Refused as refused:
                await self._refused(refused)
            except (Unreachable, TimedOut, ClientError) as error:
                log.info("pull failed queue=%s error=%s", queue.queue, error)
                self._broker_id = MASTER
                self._running.instance.refresh_soon()
                await asyncio.sleep(settings.retry_pause)
            except Exception:
                log.exception("pull failed queue=%s", queue.queue)  # whatever it is, the queue stays ours and goes on
                await asyncio.sleep(settings.retry_pause)

    async def _may_pull(self) -> bool:
        """Waits while the consumer is paused or the queue is full; False when it is dropped."""
        await self._running.active.wait()
        await self._queue.room(self._running.settings.limits, bound_span=not self._running.orderly)
        return not self._queue.dropped

    async def _pull(self) -> None:
        running, queue = self._running, self._queue
        started = time.perf_counter()
        request = OutgoingPull(
            queue.queue, self._offset, self._subscription, running.settings.pull_batch,
            running.settings.pull_batch_bytes, running.settings.long_poll,
            tell_subscription=self._subscription.kind != SQL92,
        )  # fmt: skip
        result = await pull(running.instance, running.group, request, self._broker_id)
        if queue.dropped:
            return
        self._broker_id = result.suggested_broker_id
        if result.status is PullStatus.OFFSET_MOVED:
            self._moved(result)
            return
        found, self._offset = unreadable_records.split(result.data, queue.queue, request.offset, result.next_offset)
        messages = unreadable_records.select(self._subscription, found, queue.queue)
        running.stats.pulled(queue.queue.topic, len(messages), time.perf_counter() - started)
        queue.put(messages, self._offset)
        if messages:
            self._arrived(queue)
        elif queue.count == 0:
            running.store.note(queue.queue, self._offset)  # filtered ones need no second look after a restart

    def _moved(self, result: PullResult) -> None:
        """Our offset is outside the queue, or an operator has reset it: the broker says where to go on."""
        log.warning("offset moved queue=%s from=%d to=%d", self._queue.queue, self._offset, result.next_offset)
        self._offset = result.next_offset
        self._queue.restart_at(result.next_offset)
        self._running.store.note(self._queue.queue, result.next_offset)

    async def _refused(self, refused: Refused) -> None:
        if refused.code == ResponseCode.FLOW_CONTROL:
            await asyncio.sleep(_FLOW_CONTROL_S)
            return
        if refused.code in _UNKNOWN_HERE:  # a broker that restarted has forgotten us
            self._running.instance.heartbeat_soon()
        if refused.code == ResponseCode.NOT_LEADER_FOR_QUEUE:  # a static topic was moved
            self._running.instance.refresh_soon()
        self._broker_id = MASTER  # a slave that we were sent to may serve no readers
        log.info("pull refused queue=%s error=%s", self._queue.queue, refused)
        await asyncio.sleep(self._running.settings.retry_pause)

    async def _start_offset(self) -> int:
        """Asks until it knows: to guess would skip messages or repeat all of them."""
        while True:
            try:
                return await start_offset(self._running, self._queue.queue)
            except ClientError as error:
                log.info("start offset unknown queue=%s error=%s", self._queue.queue, error)
            await asyncio.sleep(self._running.settings.retry_pause)


async def start_offset(running: Running, queue: MessageQueue) -> int:
    """Where the group was, or where a new group begins."""
    committed = await running.store.read(queue)
    if committed is not None and committed >= 0:
        return committed
    wanted = running.settings.consume_from
    if wanted == "first":
        return 0
    if is_retry_topic(queue.topic):
        return 0
    if wanted == "last":
        return await queue_offsets.max_offset(running.instance, queue)
    return await queue_offsets.offset_at(running.instance, queue, int(wanted.timestamp() * 1000))
