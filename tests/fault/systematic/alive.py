"""Whether everything that a broker does by itself goes on: nothing has ended without a word."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.system_topics.alarm import Alarm


def at_rest(broker: Broker) -> Iterator[str]:
    """What should go on and does not. A store that takes no more messages has said so, and waits for its end."""
    if broker.store.failure is not None:
        return
    now = asyncio.get_running_loop().time()
    for job in (*broker._jobs, *broker.kinds._jobs, broker.acks._scans):
        yield from _late(f"the job {job.name!r}", job._timer, now)
    for alarm in _alarms(broker):
        if alarm.at_ms is not None:
            yield from _late(f"the alarm {alarm.name!r}", alarm._timer, now)
    for name, thread in (
        ("flushes the log", broker.store.flusher._thread),
        ("flushes the queues", broker.store.queue_flusher._thread),
    ):
        if thread is None or not thread.is_alive():
            yield f"the thread that {name} has ended"
    registration = broker.registration._task
    if registration is not None and registration.done():
        yield "the registration with nameservers has ended"
    for saver in (broker.topics.saver, broker.groups.saver, broker.kinds.schedule.saver):
        if saver.dirty and saver._job is None and saver._timer is None:
            yield f"nobody saves the table {saver.name!r}"


def _alarms(broker: Broker) -> Iterator[Alarm]:
    kinds = broker.kinds
    yield from (kinds.timer.alarm, kinds.order.alarm, kinds.checks.alarm)
    yield from (level.alarm for level in kinds.schedule._levels)


def _late(what: str, timer: asyncio.TimerHandle | None, now: float) -> Iterator[str]:
    if timer is None or timer.cancelled():
        yield f"{what} is not set"
    elif timer.when() < now - 1:
        yield f"{what} should have rung {now - timer.when():.1f} s ago"
