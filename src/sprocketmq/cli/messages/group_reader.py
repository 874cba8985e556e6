"""Reading as a member of a group: a message counts as consumed when its line is written, and not before.

A line that cannot be written ends the reading. Its message stays where it is, as do those that were fetched and not
shown: nothing is sent back, and the group stands behind the last line.

Members share the queues by polling. Consumers that hold queues (`orderly`), take all of them (`broadcast`) or none
(`pop`) are handed their messages: those of a queue wait behind the first that was not taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from sprocketmq.cli.messages.read_limits import ConsumeLimits
from sprocketmq.cli.output.message_writer import MessageWriter
from sprocketmq.errors import ConfigError

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.client.pull.consumer import PullConsumer
    from sprocketmq.client.received import ReceivedMessage
    from sprocketmq.protocol.message_queue import MessageQueue

Start = Literal["first", "last"] | datetime


@dataclass(frozen=True, slots=True)
class Membership:
    """Who reads what. `start` counts for a group that has consumed nothing yet."""

    group: str
    topic: str
    tag: str = "*"
    sql: str | None = None
    start: Start = "last"
    exit_at_end: bool = False
    broadcast: bool = False
    orderly: bool = False
    pop: bool = False

    @property
    def is_handed(self) -> bool:
        return self.broadcast or self.orderly or self.pop


async def read_as_member(
    options: ClientOptions, member: Membership, limits: ConsumeLimits, writer: MessageWriter
) -> int:
    """The number of messages written. SIGTERM ends it as ^C does: the group keeps its place."""
    _cancel_on_sigterm()
    if member.exit_at_end and member.is_handed:
        raise ConfigError("--exit-at-end goes with a plain --group, or with none")
    return await (_handed if member.is_handed else _polled)(options, member, limits, writer)


def _cancel_on_sigterm() -> None:
    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError):  # where there are no signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


async def _polled(options: ClientOptions, member: Membership, limits: ConsumeLimits, writer: MessageWriter) -> int:
    from sprocketmq.client.pull.consumer import PullConsumer
    from sprocketmq.client.settings import PullSettings

    async with PullConsumer(member.group, options, settings=PullSettings(consume_from=member.start)) as consumer:
        await consumer.subscribe(member.topic, member.tag, sql=member.sql)
        await _subscribe_to_retries(consumer)
        pace = limits.begin()
        ends = await _ends(consumer) if member.exit_at_end else None
        while not pace.is_over() and not writer.is_closed:
            for message in await consumer.poll(1, pace.patience):
                writer.write(message)
                pace.count()
            if ends is not None and _is_at_end(consumer, ends):
                break
    return pace.seen


async def _ends(consumer: PullConsumer) -> dict[MessageQueue, int]:
    return {queue: await consumer.end_offset(queue) for queue in consumer.assignment()}


def _is_at_end(consumer: PullConsumer, ends: dict[MessageQueue, int]) -> bool:
    """Of the queues that are still ours."""
    return all(consumer.position(queue) >= ends[queue] for queue in consumer.assignment() if queue in ends)


async def _subscribe_to_retries(consumer: PullConsumer) -> None:
    """What members of the group sent back comes again; a group that has read none of it yet begins at the first."""
    from sprocketmq.protocol.names import retry_topic

    topic = retry_topic(consumer.group)
    await consumer.subscribe(topic)
    for queue in consumer.assignment():
        if queue.topic == topic and await consumer.committed(queue) is None:
            await consumer.seek_to_begin(queue)


async def _handed(options: ClientOptions, member: Membership, limits: ConsumeLimits, writer: MessageWriter) -> int:
    from sprocketmq.client.push.consumer import PushConsumer
    from sprocketmq.client.settings import ConsumerSettings

    pace, changed = limits.begin(), asyncio.Event()
    failures: list[OSError] = []

    async def handle(message: ReceivedMessage) -> bool:
        if pace.is_over() or failures:
            return False
        try:
            writer.write(message)
        except OSError as error:
            failures.append(error)
        else:
            pace.count()
        changed.set()
        return not failures

    few = min(limits.count or 32, 32)
    settings = ConsumerSettings(
        consume_from=member.start, concurrency=1, pull_batch=few, pop_batch=1, pop_limit=1 if limits.count else 32
    )
    consumer = PushConsumer(
        member.group, options, settings=settings, orderly=not member.pop, broadcasting=member.broadcast, pop=member.pop
    )
    consumer.add_handler(member.topic, handle, member.tag, sql=member.sql)
    async with consumer:
        while not pace.is_over() and not failures and not writer.is_closed:
            try:
                async with asyncio.timeout(pace.patience):
                    await changed.wait()
            except TimeoutError:
                pass
            changed.clear()
    if failures:
        raise failures[0]
    return pace.seen
