"""Offsets of a queue: where it begins and ends, where a time lies in it, and where a group has got to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.requests import check, header_of
from sprocketmq.client.errors import ClientError, Unreachable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import BoundaryType
from sprocketmq.protocol.headers.offsets import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from sprocketmq.protocol.message_queue import MessageQueue

_PAUSE_S = 0.1  # before a commit that failed is tried again


async def _ask(instance: ClientInstance, queue: MessageQueue, code: int, header: object) -> Command:
    """A question about a queue. Where its broker is gone, whoever the nameservers name in its place is asked."""
    address = await instance.address_of(queue)
    try:
        return await instance.call(address, code, header)
    except Unreachable:
        route = await instance.routes.fetch(queue.topic)
        other = route.address(queue.broker_name)
        if other is None or other == address:
            raise
        return await instance.call(other, code, header)


async def min_offset(instance: ClientInstance, queue: MessageQueue) -> int:
    """The first offset that is still there."""
    header = GetMinOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
    answer = await _ask(instance, queue, RequestCode.GET_MIN_OFFSET, header)
    return header_of(GetMinOffsetResponseHeader, answer).offset


async def max_offset(instance: ClientInstance, queue: MessageQueue) -> int:
    """The offset the next message will get."""
    header = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
    answer = await _ask(instance, queue, RequestCode.GET_MAX_OFFSET, header)
    return header_of(GetMaxOffsetResponseHeader, answer).offset


async def offset_at(
    instance: ClientInstance, queue: MessageQueue, timestamp_ms: int, boundary: BoundaryType = BoundaryType.LOWER
) -> int:
    """The offset of the first message stored at `timestamp_ms` or later (of the last one, for UPPER)."""
    header = SearchOffsetRequestHeader(
        topic=queue.topic,
        queue_id=queue.queue_id,
        timestamp=timestamp_ms,
        boundary_type=boundary,
        bname=queue.broker_name,
    )
    answer = await _ask(instance, queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
    return header_of(SearchOffsetResponseHeader, answer).offset


async def earliest_store_time(instance: ClientInstance, queue: MessageQueue) -> int | None:
    """When the oldest message of the queue was stored, in ms; None when there is none."""
    header = GetEarliestMsgStoretimeRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
    answer = await _ask(instance, queue, RequestCode.GET_EARLIEST_MSG_STORETIME, header)
    timestamp = header_of(GetEarliestMsgStoretimeResponseHeader, answer).timestamp
    return timestamp if timestamp > 0 else None


async def committed(
    instance: ClientInstance, group: str, queue: MessageQueue, *, only_committed: bool = False
) -> int | None:
    """Where the group goes on in the queue; None when it has committed nothing there.

    A broker says 0 of a young queue that the group was never in, unless it is asked for what was committed only.
    """
    header = QueryConsumerOffsetRequestHeader(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        set_zero_if_not_found=False if only_committed else None,
        bname=queue.broker_name,
    )
    address = await instance.address_of(queue)
    answer = await instance.ask(address, RequestCode.QUERY_CONSUMER_OFFSET, header)
    if answer.code == ResponseCode.QUERY_NOT_FOUND:
        return None
    return header_of(QueryConsumerOffsetResponseHeader, check(answer, address)).offset


async def commit(instance: ClientInstance, group: str, queue: MessageQueue, offset: int, *, wait: bool = True) -> None:
    """Set the group's offset; without `wait` nobody tells whether it arrived."""
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        commit_offset=offset,
        bname=queue.broker_name,
    )
    address = await instance.address_of(queue)
    if wait:
        await instance.call(address, RequestCode.UPDATE_CONSUMER_OFFSET, header)
    else:
        await instance.oneway(address, RequestCode.UPDATE_CONSUMER_OFFSET, header)


async def commit_all(
    instance: ClientInstance, group: str, wanted: Mapping[MessageQueue, int], *, within: float = 0.0
) -> dict[MessageQueue, ClientError]:
    """Set the group's offsets and return, when all brokers have answered, the queues that stay as they were, and why.

    What failed is tried again for `within` seconds. The caller sees to it that one commit at a time is under way: a
    broker may carry two of them out in either order, and the older offset would stay.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    failed = await _commit_once(instance, group, wanted)
    while again := {queue: wanted[queue] for queue, error in failed.items() if error.retriable}:
        if loop.time() + _PAUSE_S >= deadline:
            break
        instance.refresh_soon()
        await asyncio.sleep(_PAUSE_S)
        for queue in again:
            del failed[queue]
        failed |= await _commit_once(instance, group, again)
    return failed


async def _commit_once(
    instance: ClientInstance, group: str, wanted: Mapping[MessageQueue, int]
) -> dict[MessageQueue, ClientError]:
    """One queue of each topic and broker goes ahead of the others: Apache's broker makes its table of a group and topic
    with the first commit, and of two first ones that come at once it forgets one (`ConsumerOffsetManager.java`).
    """
    first = {(queue.topic, queue.broker_name): queue for queue in reversed(list(wanted))}.values()
    ahead = {queue: wanted[queue] for queue in first}
    rest = {queue: offset for queue, offset in wanted.items() if queue not in ahead}
    return await _commit_together(instance, group, ahead) | await _commit_together(instance, group, rest)


async def _commit_together(
    instance: ClientInstance, group: str, wanted: Mapping[MessageQueue, int]
) -> dict[MessageQueue, ClientError]:
    commits = (commit(instance, group, queue, offset) for queue, offset in wanted.items())
    failed: dict[MessageQueue, ClientError] = {}
    for queue, result in zip(wanted, await asyncio.gather(*commits, return_exceptions=True), strict=True):
        if isinstance(result, ClientError):
            failed[queue] = result
        elif isinstance(result, BaseException):
            raise result
    return failed
