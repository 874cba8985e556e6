"""The queues a pull consumer reads, with their buffers and fetchers, and its membership in the group."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sprocketmq.client.cluster import queue_offsets
from sprocketmq.client.cluster.group_members import group_members
from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.repeated_warnings import RepeatedWarnings
from sprocketmq.client.cluster.subscription_check import check_subscription
from sprocketmq.client.cluster.tasks import BackgroundTasks, Ticker
from sprocketmq.client.errors import ClientError, Refused
from sprocketmq.client.pull.buffer import QueueBuffer
from sprocketmq.client.pull.fetcher import Fetcher
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import PullSettings
from sprocketmq.client.subscription import Subscription
from sprocketmq.codes import VERSION_NAME, ResponseCode
from sprocketmq.errors import BodyError
from sprocketmq.protocol.bodies.heartbeat import ConsumerData
from sprocketmq.protocol.bodies.running_info import (
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
    ProcessQueueInfo,
)
from sprocketmq.protocol.enums import CMResult, ConsumeFromWhere, ConsumeType, MessageModel
from sprocketmq.protocol.message_queue import MessageQueue

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("sprocketmq.client.pull.assignment")

_STOP_S = 10.0  # in which a commit that fails at the end is tried again; as long as a push consumer's handlers have


class Assignment:
    def __init__(self, instance: ClientInstance, group: str, settings: PullSettings) -> None:
        self.group = group
        self.buffers: dict[MessageQueue, QueueBuffer] = {}
        self._instance, self._settings = instance, settings
        self._subscriptions: dict[str, Subscription] = {}
        self._fetches: dict[MessageQueue, asyncio.Task[None]] = {}
        self._finished: dict[MessageQueue, int] = {}  # offsets after what earlier polls gave
        self._committed: dict[MessageQueue, int] = {}
        self._committing = asyncio.Lock()
        self._tasks = BackgroundTasks()
        self._arrived = asyncio.Event()
        self._rebalances = Ticker("rebalance", settings.rebalance_interval, self._rebalance)
        self._turn = 0
        self._notices = RepeatedWarnings(log)
        self._ticking = False
        self.is_stopped = False  # nothing is handed out any more

    def buffer(self, queue: MessageQueue) -> QueueBuffer:
        try:
            return self.buffers[queue]
        except KeyError:
            raise ValueError(f"queue {queue} is not assigned to this consumer") from None

    # -- membership -------------------------------------------------------------------------------------------------

    async def subscribe(self, subscription: Subscription) -> None:
        await check_subscription(self._instance, self.group, subscription)
        self._subscriptions[subscription.topic] = subscription
        await self._instance.join(consumer=self)
        for queue, buffer in self.buffers.items():
            if queue.topic == subscription.topic:
                buffer.select(subscription)
        self._start_ticking()
        await self._rebalance()

    async def assign(self, queues: list[MessageQueue], tags: str, sql: str | None) -> None:
        if self._subscriptions:
            raise ValueError("a consumer that subscribes cannot be assigned queues as well")
        wanted = {queue: Subscription.of(queue.topic, tags, sql) for queue in queues}
        await self._let_go([queue for queue in self.buffers if queue not in wanted])
        for queue, subscription in wanted.items():
            if queue in self.buffers:
                self.buffers[queue].select(subscription)
            else:
                await self._take_up(queue, subscription)
        self._start_ticking()

    async def stop(self, *, commit: bool) -> None:
        self.is_stopped = True
        self._arrived.set()  # whoever waits for messages need not wait any longer
        async with self._committing:  # a commit that is under way ends first: the broker could take it for the last one
            await self._tasks.stop()
        if commit:
            self.finish_poll()
        await self._commit_last(self._finished, _STOP_S)
        if self._subscriptions:
            await self._instance.leave(consumer=self.group)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def poll(self, limit: int, timeout: float) -> list[ReceivedMessage]:
        self.require_queues()
        self.finish_poll()
        await self.wait(timeout)
        messages: list[ReceivedMessage] = []
        for buffer in self.in_turn():
            if len(messages) >= limit:
                break
            messages += buffer.take(limit - len(messages))
        return messages

    async def poll_arrow(self, timeout: float) -> pa.RecordBatch | None:
        from sprocketmq.client.pull import arrow

        self.require_queues()
        self.finish_poll()
        await self.wait(timeout)
        batches = []
        for buffer in self.in_turn():
            if data := buffer.pieces():
                try:
                    batch = arrow.record_batch(data, buffer.queue.broker_name)
                except BodyError:
                    batch = arrow.record_batch(buffer.pieces(carefully=True), buffer.queue.broker_name)
                buffer.hand_out_all()
                batches.append(arrow.tagged(batch, buffer.subscription.tags))
        return arrow.joined(batches)

    def require_queues(self) -> None:
        if not self._ticking:
            raise ValueError("there is nothing to read: subscribe to a topic or assign queues first")

    async def commit(self, positions: Mapping[MessageQueue, int] | None = None) -> None:
        chosen = {queue: buffer.position for queue, buffer in self.buffers.items()} if positions is None else positions
        if failed := await self._commit(chosen):
            raise next(iter(failed.values()))

    async def _commit(self, chosen: Mapping[MessageQueue, int], within: float = 0.0) -> dict[MessageQueue, ClientError]:
        async with self._committing:
            changed = {queue: offset for queue, offset in chosen.items() if self._committed.get(queue) != offset}
            failed = await queue_offsets.commit_all(self._instance, self.group, changed, within=within)
            self._committed |= {queue: offset for queue, offset in changed.items() if queue not in failed}
        return failed

    async def _commit_last(self, chosen: Mapping[MessageQueue, int], within: float = 0.0) -> None:
        """Nobody will commit these later, so what stays uncommitted is news."""
        for queue, error in (await self._commit(chosen, within)).items():
            log.warning(
                "offset not committed group=%s queue=%s offset=%d committed=%s error=%s",
                self.group, queue, chosen[queue], self._committed.get(queue), error,
            )  # fmt: skip

    async def wait(self, timeout: float) -> None:
        """Until a buffer has something, the time is up, or the consumer is stopped."""
        try:
            async with asyncio.timeout(timeout):
                while not self.is_stopped and all(buffer.is_empty or buffer.paused for buffer in self.buffers.values()):
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return

    def in_turn(self) -> list[QueueBuffer]:
        """All buffers, another one first each time, so that no queue starves; none of a consumer that was stopped."""
        buffers = [] if self.is_stopped else list(self.buffers.values())
        self._turn += 1
        start = self._turn % max(len(buffers), 1)
        return buffers[start:] + buffers[:start]

    def finish_poll(self) -> None:
        """What was handed out so far counts as consumed."""
        for queue, buffer in self.buffers.items():
            self._finished[queue] = buffer.position

    def finish(self, buffer: QueueBuffer) -> None:
        """As `finish_poll`, for one queue; one that was let go meanwhile is not ours to commit any more."""
        if self.buffers.get(buffer.queue) is buffer:
            self._finished[buffer.queue] = buffer.position

    # -- queues come and go -------------------------------------------------------------------------------------------

    def _start_ticking(self) -> None:
        if self._ticking:
            return
        self._ticking = True
        if self._subscriptions:
            self._tasks.spawn(self._rebalances.run(), "rebalance")
        if self._settings.commit_interval > 0:
            commits = Ticker("offset commit", self._settings.commit_interval, self._auto_commit)
            self._tasks.spawn(commits.run(), "offset commit")

    async def _auto_commit(self) -> None:
        await self.commit({queue: offset for queue, offset in self._finished.items() if queue in self.buffers})

    async def _rebalance(self) -> None:
        for topic, subscription in list(self._subscriptions.items()):
            try:
                route = await self._instance.routes.get(topic)
                members = sorted(await group_members(self._instance, self.group, route))
            except ClientError as error:
                self._try_again(topic, error)
                continue
            mine = set(self._settings.allocation(self._instance.client_id, route.read_queues, members))
            held = {queue for queue in self.buffers if queue.topic == topic}
            await self._let_go(sorted(held - mine))
            try:
                for queue in sorted(mine - held):
                    await self._take_up(queue, subscription)
            except ClientError as error:
                if not error.retriable or _is_forbidden(error):
                    raise
                self._try_again(topic, error)  # a master may be gone, and the next not yet elected
            else:
                self._notices.over(topic)

    def _try_again(self, topic: str, error: ClientError) -> None:
        self._notices.tell(
            topic, "nothing to read yet, it is tried again group=%s topic=%s error=%s", self.group, topic, error
        )
        self._instance.refresh_soon()
        self._tasks.spawn(self._rebalance_later(), "rebalance soon")

    async def _rebalance_later(self) -> None:
        await asyncio.sleep(self._settings.retry_pause)
        self._rebalances.wake()

    async def _take_up(self, queue: MessageQueue, subscription: Subscription) -> None:
        buffer = QueueBuffer(queue, subscription, await self._start_offset(queue))
        self.buffers[queue] = buffer
        fetcher = Fetcher(self._instance, self.group, self._settings, buffer, self._arrived.set)
        self._fetches[queue] = self._tasks.spawn(fetcher.run(), f"fetch {queue}")

    async def _let_go(self, queues: list[MessageQueue]) -> None:
        for queue in queues:
            self._fetches.pop(queue).cancel()
            del self.buffers[queue]
        last = {queue: self._finished[queue] for queue in queues if queue in self._finished}
        if self._settings.commit_interval > 0:
            await self._commit_last(last)
        for queue in last:
            del self._finished[queue]  # after the commit: a stop in between still has them to commit

    async def _start_offset(self, queue: MessageQueue) -> int:
        committed = await queue_offsets.committed(self._instance, self.group, queue)
        if committed is not None and committed >= 0:
            self._committed[queue] = committed
            return committed
        wanted = self._settings.consume_from
        if wanted == "first":
            return await queue_offsets.min_offset(self._instance, queue)
        if wanted == "last":
            return await queue_offsets.max_offset(self._instance, queue)
        return await queue_offsets.offset_at(self._instance, queue, int(wanted.timestamp() * 1000))

    # -- the face to the instance -------------------------------------------------------------------------------------

    def topics(self) -> frozenset[str]:
        return frozenset(self._subscriptions)

    def heartbeat(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_ACTIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=tuple(subscription.data() for subscription in self._subscriptions.values()),
        )

    def rebalance_soon(self) -> None:
        self._rebalances.wake()

    async def reset_offsets(self, topic: str, table: Mapping[MessageQueue, int]) -> None:
        for queue, offset in table.items():
            if queue.topic == topic and queue in self.buffers:
                self.buffers[queue].seek(offset)
                self._finished[queue] = offset

    def consumed_offsets(self, topic: str) -> Mapping[MessageQueue, int]:
        return {queue: buffer.position for queue, buffer in self.buffers.items() if queue.topic == topic}

    def running_info(self) -> ConsumerRunningInfo:
        return ConsumerRunningInfo(
            properties={"PROP_CONSUME_TYPE": "CONSUME_ACTIVELY", "PROP_CLIENT_VERSION": VERSION_NAME},
            subscription_set=tuple(subscription.data() for subscription in self._subscriptions.values()),
            mq_table={
                queue: ProcessQueueInfo(
                    commit_offset=self._committed.get(queue, 0),
                    cached_msg_min_offset=buffer.position,
                    cached_msg_max_offset=buffer.fetch_offset,
                    cached_msg_size_in_mi_b=buffer.size_bytes >> 20,
                )
                for queue, buffer in self.buffers.items()
            },
        )

    async def consume_directly(self, message: ReceivedMessage) -> ConsumeMessageDirectlyResult:
        """There is no handler to give it to."""
        return ConsumeMessageDirectlyResult(consume_result=CMResult.CR_RETURN_NULL, remark="this consumer polls")


def _is_forbidden(error: ClientError) -> bool:
    """A producer may try its luck at another broker; a group that may not read is for its user to know at once."""
    return isinstance(error, Refused) and error.code == ResponseCode.NO_PERMISSION
