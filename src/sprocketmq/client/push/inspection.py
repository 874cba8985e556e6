"""What an operator may ask of a running consumer: how it is, and to consume one message now."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sprocketmq.client.push.context import Running
from sprocketmq.client.push.process_queue import ProcessQueue
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.codes import VERSION_NAME
from sprocketmq.protocol.bodies.running_info import (
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
    ProcessQueueInfo,
)
from sprocketmq.protocol.enums import CMResult
from sprocketmq.protocol.message_queue import MessageQueue

_RESULTS = {
    "success": CMResult.CR_SUCCESS,
    "retry": CMResult.CR_LATER,
    "exception": CMResult.CR_THROW_EXCEPTION,
    "timeout": CMResult.CR_THROW_EXCEPTION,
}


def running_info(running: Running, queues: Mapping[MessageQueue, ProcessQueue], started_ms: int) -> ConsumerRunningInfo:
    return ConsumerRunningInfo(
        properties={
            "PROP_NAMESERVER_ADDR": ";".join(running.instance.options.nameservers),
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_CLIENT_VERSION": VERSION_NAME,
            "PROP_CONSUMEORDERLY": str(running.orderly).lower(),
            "PROP_THREADPOOL_CORE_SIZE": str(running.settings.concurrency),
            "PROP_CONSUMER_START_TIMESTAMP": str(started_ms),
        },
        subscription_set=tuple(subscription.data() for subscription in running.subscriptions.values()),
        mq_table={queue: _process_info(running, process) for queue, process in queues.items()},
        status_table=running.stats.status(),
    )


def _process_info(running: Running, process: ProcessQueue) -> ProcessQueueInfo:
    first, last = process.offset_range
    wall = time.time() - time.monotonic()
    return ProcessQueueInfo(
        commit_offset=running.store.noted(process.queue) or 0,
        cached_msg_min_offset=first,
        cached_msg_max_offset=last,
        cached_msg_count=process.count,
        cached_msg_size_in_mi_b=process.size_bytes >> 20,
        locked=process.is_locked,
        last_lock_timestamp=0 if process.locked_at is None else int((wall + process.locked_at) * 1000),
        droped=process.dropped,
        last_pull_timestamp=int((wall + process.last_pull) * 1000),
        last_consume_timestamp=int((wall + process.last_consume) * 1000),
    )


async def consume_directly(running: Running, message: ReceivedMessage) -> ConsumeMessageDirectlyResult:
    started = time.perf_counter()
    outcome = await running.consume([message], message.queue)
    return ConsumeMessageDirectlyResult(
        order=running.orderly,
        consume_result=_RESULTS[outcome.reason],
        remark=None if outcome.error is None else repr(outcome.error),
        spent_time_mills=int((time.perf_counter() - started) * 1000),
    )
