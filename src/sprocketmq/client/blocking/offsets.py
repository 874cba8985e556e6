"""Offsets of queues and groups, over a blocking cluster. Each call insists while its broker is away.

Headers are plain fields here, as a task would wait longer for the classes than for the answers.
"""

from __future__ import annotations

from sprocketmq.client.blocking.connection import BlockingCluster, refused
from sprocketmq.client.cluster.requests import check
from sprocketmq.client.errors import Refused
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue


def min_offset(cluster: BlockingCluster, queue: MessageQueue) -> int:
    return _offset(_ask(cluster, queue, RequestCode.GET_MIN_OFFSET))


def max_offset(cluster: BlockingCluster, queue: MessageQueue) -> int:
    return _offset(_ask(cluster, queue, RequestCode.GET_MAX_OFFSET, committed="true"))


def offset_at(cluster: BlockingCluster, queue: MessageQueue, timestamp_ms: int) -> int:
    """The offset of the first message stored at `timestamp_ms` or later; where the queue ends when there is none."""
    return _offset(_ask(cluster, queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, timestamp=str(timestamp_ms)))


def committed(cluster: BlockingCluster, group: str, queue: MessageQueue) -> int | None:
    """Where the group goes on; None when it has committed nothing there."""
    code, fields = RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": group, "setZeroIfNotFound": "false"}
    try:
        return _offset(_ask(cluster, queue, code, **fields))
    except Refused as answer:
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        raise


def commit(cluster: BlockingCluster, group: str, queue: MessageQueue, offset: int) -> None:
    _ask(cluster, queue, RequestCode.UPDATE_CONSUMER_OFFSET, consumerGroup=group, commitOffset=str(offset))


def _ask(cluster: BlockingCluster, queue: MessageQueue, code: int, **fields: str) -> Command:
    header = {"topic": queue.topic, "queueId": str(queue.queue_id), "bname": queue.broker_name, **fields}
    return cluster.insist(lambda: check(cluster.ask(cluster.address(queue), code, header)))


def _offset(answer: Command) -> int:
    if (found := (answer.ext_fields or {}).get("offset")) is None:
        raise refused(answer, "a broker")
    return int(found)
