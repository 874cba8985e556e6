"""The pull consumer as users see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from sprocketmq.client.arguments import (
    check_positions,
    check_queue,
    check_time,
    check_wait,
    check_whole,
    queue_list,
)
from sprocketmq.client.cluster import queue_offsets, unreadable_records
from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.pull_request import PullResult
from sprocketmq.client.cluster.shared_instances import acquire, release
from sprocketmq.client.errors import Closed
from sprocketmq.client.names import full_group, full_topic
from sprocketmq.client.options import ClientOptions, Connecting, describe, settings_of
from sprocketmq.client.pull.assignment import Assignment
from sprocketmq.client.pull.iteration import one_by_one
from sprocketmq.client.pull.ranges import pull_range, within
from sprocketmq.client.received import ReceivedMessage, inside
from sprocketmq.client.settings import PullSettings
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.message_queue import MessageQueue

if TYPE_CHECKING:
    import pyarrow as pa


class PullConsumer:
    """Reads when asked. Either `subscribe`, and the group shares the queues out, or `assign`, and you choose them.

    async with PullConsumer("audit", nameserver="127.0.0.1:9876") as consumer:
        await consumer.subscribe("orders")
        async for message in consumer:
            ...

    A message of a loop counts as consumed when the next one is asked for, what a poll gave when the next poll begins;
    the last of them when the block ends without an error.
    """

    def __init__(
        self,
        group: str = "",
        nameserver: str | Sequence[str] | ClientOptions | None = None,
        *,
        settings: PullSettings | None = None,
        **connecting: Unpack[Connecting],
    ) -> None:
        self.options = ClientOptions.of(nameserver, **connecting)
        self.settings = settings_of(PullSettings, settings)
        self.group = full_group(self.options, group)
        self._instance: ClientInstance | None = None
        self._assignment: Assignment | None = None

    def __repr__(self) -> str:
        return describe(self, self.group, self.options, is_started=self._instance is not None)

    # -- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> Self:
        if self._instance is None:
            self._instance = acquire(self.options, consumer=self.group)
            self._assignment = Assignment(self._instance, self.group, self.settings)
        return self

    async def stop(self, *, commit: bool = True) -> None:
        """Stop fetching, and commit what the polls so far gave. Loops over the consumer end."""
        instance, assignment = self._instance, self._assignment
        if instance is None or assignment is None:
            return
        self._instance = self._assignment = None
        try:
            await assignment.stop(commit=commit)
        finally:
            await release(instance, consumer=self.group)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop(commit=error is None)

    # -- where to read ------------------------------------------------------------------------------------------------

    async def subscribe(self, topic: str, tags: str = "*", *, sql: str | None = None) -> None:
        """Share the topic's queues with the other members of the group."""
        await self._parts().subscribe(Subscription.of(self._full(topic), tags, sql))

    async def assign(self, queues: Iterable[MessageQueue], tags: str = "*", *, sql: str | None = None) -> None:
        """Read exactly these queues; nobody is asked. Replaces an earlier assignment."""
        await self._parts().assign(queue_list(queues), tags, sql)

    def assignment(self) -> set[MessageQueue]:
        return set(self._parts().buffers)

    async def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """The readable queues of a topic. A cluster that is starting is waited for as long as a request may take."""
        deadline = asyncio.get_running_loop().time() + self.options.request_timeout
        routes, full = self._running().routes, self._full(topic)
        return (routes.known(full) or await routes.fetch_by(full, deadline)).read_queues

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """The next poll reads `queue` from `offset`."""
        check_whole("offset", offset)
        self._parts().buffer(queue).seek(offset)

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        await self.seek(queue, await self.begin_offset(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        await self.seek(queue, await self.end_offset(queue))

    async def seek_to_time(self, queue: MessageQueue, when: datetime) -> None:
        await self.seek(queue, await self.offset_at(queue, when))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        for queue in queue_list(queues):
            self._parts().buffer(queue).paused = True

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        for queue in queue_list(queues):
            buffer = self._parts().buffer(queue)
            buffer.paused = False
            buffer.changed.set()

    # -- reading ----------------------------------------------------------------------------------------------------

    async def poll(self, max_messages: int = 1024, timeout: float = 5.0) -> list[ReceivedMessage]:
        """Messages that are there, or that come within `timeout`; an empty list when none do."""
        check_whole("max_messages", max_messages, least=1)
        check_wait(timeout)
        return inside(self.options.namespace, await self._parts().poll(max_messages, timeout))

    async def poll_arrow(self, timeout: float = 5.0) -> pa.RecordBatch | None:
        """What is there as one Arrow record batch, without a Python object per message; None when nothing came."""
        check_wait(timeout)
        return await self._parts().poll_arrow(timeout)

    async def batches(self, max_messages: int = 1024) -> AsyncIterator[list[ReceivedMessage]]:
        """Polls until the consumer is stopped; each batch has at least one message."""
        check_whole("max_messages", max_messages, least=1)
        parts = self._parts()
        while not parts.is_stopped:
            if messages := inside(self.options.namespace, await parts.poll(max_messages, self.settings.long_poll)):
                yield messages

    def __aiter__(self) -> AsyncIterator[ReceivedMessage]:
        return one_by_one(self._parts(), self.settings.long_poll, self.options.namespace)

    async def read_range(self, queue: MessageQueue, begin: int, end: int) -> AsyncIterator[list[ReceivedMessage]]:
        """The messages of one queue from offset `begin` to before `end`; touches no committed offset."""
        is_damaged = True
        while is_damaged:
            is_damaged = False
            async with aclosing(self._pulls(queue, begin, end)) as pulls:
                async for result in pulls:
                    first = max(begin, result.min_offset)
                    messages, begin = unreadable_records.split(result.data, queue, first, result.next_offset)
                    if messages := within(messages, end):
                        yield inside(self.options.namespace, messages)
                    if is_damaged := begin != result.next_offset:
                        break  # and go on behind what cannot be read

    async def read_range_arrow(self, queue: MessageQueue, begin: int, end: int) -> AsyncIterator[pa.RecordBatch]:
        """As `read_range`, in Arrow record batches."""
        from sprocketmq.client.pull import arrow

        async for result in self._pulls(queue, begin, end):
            batch = arrow.before(arrow.record_batch([result.data], queue.broker_name), end)
            if batch.num_rows:
                yield batch

    # -- offsets ----------------------------------------------------------------------------------------------------

    async def commit(self, positions: Mapping[MessageQueue, int] | None = None) -> None:
        """Commit these offsets, or everything that polls have given so far. Returns when the brokers have them."""
        if positions is not None:
            check_positions(positions)
        await self._parts().commit(positions)

    def position(self, queue: MessageQueue) -> int:
        """The offset the next poll reads from."""
        return self._parts().buffer(queue).position

    async def committed(self, queue: MessageQueue) -> int | None:
        check_queue(queue)
        return await queue_offsets.committed(self._running(), self.group, queue)

    async def begin_offset(self, queue: MessageQueue) -> int:
        check_queue(queue)
        return await queue_offsets.min_offset(self._running(), queue)

    async def end_offset(self, queue: MessageQueue) -> int:
        check_queue(queue)
        return await queue_offsets.max_offset(self._running(), queue)

    async def offset_at(self, queue: MessageQueue, when: datetime) -> int:
        """The offset of the first message stored at `when` or later."""
        check_queue(queue)
        check_time(when)
        return await queue_offsets.offset_at(self._running(), queue, int(when.timestamp() * 1000))

    # -- inside -----------------------------------------------------------------------------------------------------

    def _pulls(self, queue: MessageQueue, begin: int, end: int) -> AsyncGenerator[PullResult, None]:
        check_queue(queue)
        check_whole("begin", begin)
        check_whole("end", end)
        return pull_range(self._running(), self.group, queue, begin, end, self.settings)

    def _full(self, topic: str) -> str:
        return full_topic(self.options.namespace, topic)

    def _running(self) -> ClientInstance:
        if self._instance is None:
            raise Closed("the consumer is not started, or was stopped")
        return self._instance

    def _parts(self) -> Assignment:
        if self._assignment is None:
            raise Closed("the consumer is not started, or was stopped")
        return self._assignment
