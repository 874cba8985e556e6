"""Reading a stretch of one queue, from offset to offset, without a group's help: for batch jobs and replays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.pull_request import OutgoingPull, PullResult, pull
from sprocketmq.client.errors import ClientError
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import PullSettings
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.message_queue import MessageQueue


async def pull_range(
    instance: ClientInstance, group: str, queue: MessageQueue, begin: int, end: int, settings: PullSettings
) -> AsyncGenerator[PullResult, None]:
    """The pulls that cover [begin, end); the last may reach beyond. One is fetched ahead while one is being used.

    Offsets that the broker no longer has are passed over; an `end` beyond the queue's end is cut to it.
    """
    subscription = Subscription(queue.topic)

    async def fetch(offset: int) -> PullResult:
        most = min(settings.pull_batch, end - offset)
        request = OutgoingPull(queue, offset, subscription, most, settings.pull_batch_bytes, bulk=True)
        return await _insist(instance, group, request, settings)

    ahead = asyncio.ensure_future(fetch(begin)) if begin < end else None
    try:
        while ahead is not None:
            result = await ahead
            ahead = None
            if result.next_offset < min(end, result.max_offset) and (result.data or result.next_offset > begin):
                ahead = asyncio.ensure_future(fetch(result.next_offset))
            begin = result.next_offset
            if result.data:
                yield result
    finally:
        if ahead is not None:
            ahead.cancel()


async def _insist(instance: ClientInstance, group: str, request: OutgoingPull, settings: PullSettings) -> PullResult:
    """Broken connections are mended by asking again, a few times."""
    for left in reversed(range(settings.range_retries + 1)):
        try:
            return await pull(instance, group, request)
        except ClientError as error:
            if not error.retriable or left == 0:
                raise
        instance.refresh_soon()
        await asyncio.sleep(settings.retry_pause)
    raise AssertionError("unreachable")


def within(messages: list[ReceivedMessage], end: int) -> list[ReceivedMessage]:
    """Those before `end`."""
    if not messages or messages[-1].queue_offset < end:
        return messages
    return [message for message in messages if message.queue_offset < end]
