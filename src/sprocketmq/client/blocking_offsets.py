"""Offsets of queues and groups, over a blocking cluster. Each call insists while its broker is away."""

from __future__ import annotations

from sprocketmq.client.blocking import BlockingCluster
from sprocketmq.client.transport import check, header_of
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.headers.offsets import (
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


def min_offset(cluster: BlockingCluster, queue: MessageQueue) -> int:
    header = GetMinOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
    return header_of(GetMinOffsetResponseHeader, _ask(cluster, queue, RequestCode.GET_MIN_OFFSET, header)).offset


def max_offset(cluster: BlockingCluster, queue: MessageQueue) -> int:
    header = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
    return header_of(GetMaxOffsetResponseHeader, _ask(cluster, queue, RequestCode.GET_MAX_OFFSET, header)).offset


def offset_at(cluster: BlockingCluster, queue: MessageQueue, timestamp_ms: int) -> int:
    """The offset of the first message stored at `timestamp_ms` or later; where the queue ends when there is none."""
    header = SearchOffsetRequestHeader(
        topic=queue.topic, queue_id=queue.queue_id, timestamp=timestamp_ms, bname=queue.broker_name
    )
    answer = _ask(cluster, queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
    return header_of(SearchOffsetResponseHeader, answer).offset


def committed(cluster: BlockingCluster, group: str, queue: MessageQueue) -> int | None:
    """Where the group goes on; None when it has committed nothing there."""
    header = QueryConsumerOffsetRequestHeader(
        consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, set_zero_if_not_found=False,
        bname=queue.broker_name,
    )  # fmt: skip
    answer = _reply(cluster, queue, RequestCode.QUERY_CONSUMER_OFFSET, header)
    if answer.code == ResponseCode.QUERY_NOT_FOUND:
        return None
    return header_of(QueryConsumerOffsetResponseHeader, check(answer)).offset


def commit(cluster: BlockingCluster, group: str, queue: MessageQueue, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, commit_offset=offset,
        bname=queue.broker_name,
    )  # fmt: skip
    _ask(cluster, queue, RequestCode.UPDATE_CONSUMER_OFFSET, header)


def _ask(cluster: BlockingCluster, queue: MessageQueue, code: int, header: object) -> Command:
    return cluster.insist(lambda: check(cluster.ask(cluster.address(queue), code, header)))


def _reply(cluster: BlockingCluster, queue: MessageQueue, code: int, header: object) -> Command:
    return cluster.insist(lambda: cluster.ask(cluster.address(queue), code, header))
