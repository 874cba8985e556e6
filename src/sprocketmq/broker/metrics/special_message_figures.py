"""The figures of special messages under RocketMQ 5's names: transactions, timers, delays, POP, dead letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sprocketmq.metrics.exposition import COUNTER, GAUGE, HISTOGRAM, Metric, in_unit
from sprocketmq.metrics.histogram import Histogram
from sprocketmq.protocol.names import is_system_topic

if TYPE_CHECKING:
    from sprocketmq.broker.metrics.stats import Stats
    from sprocketmq.broker.wiring import MessageKinds

_MEDIUM = {"storage_type": "local", "storage_medium": "disk"}


class SpecialMessageFigures:
    def __init__(self, stats: Stats, kinds: MessageKinds) -> None:
        self._stats = stats
        self._kinds = kinds

    def __call__(self) -> Iterator[Metric]:
        yield from self._transactions()
        yield from self._timers()
        yield from self._pop()
        dead = Metric("rocketmq_send_to_dlq_messages_total", COUNTER, "Messages that groups gave up on.")
        for key, count in self._stats.dead_letters():
            topic, _, group = key.partition("@")
            dead.add(count, topic=topic, consumer_group=group, is_system="false")
        yield dead

    def _transactions(self) -> Iterator[Metric]:
        counts = self._stats.special
        yield _by_topic("rocketmq_commit_messages_total", COUNTER, "Transactions committed.", counts.committed)
        yield _by_topic("rocketmq_rollback_messages_total", COUNTER, "Transactions rolled back.", counts.rolled_back)
        halves = self._kinds.halves.resting.counts
        yield _by_topic("rocketmq_half_messages", GAUGE, "Transactions that are open.", halves)
        yield from _histograms(
            "rocketmq_finish_message_latency", "milliseconds", "From a half message to its end.", counts.finish_ms
        )

    def _timers(self) -> Iterator[Metric]:
        timer = self._kinds.timer
        figures = timer.figures()
        waiting = Metric("rocketmq_timer_enqueue_lag", GAUGE, "Timed messages that are not in the wheel yet.")
        yield waiting.add(int(figures["timerOffsetBehind"]), **_MEDIUM)
        late_ms = 1000 * int(figures["timerReadBehind"])
        latency = Metric("rocketmq_timer_dequeue_latency", GAUGE, "How late deliveries are.").add(late_ms, **_MEDIUM)
        yield from (latency, in_unit(latency, "milliseconds"))
        oldest = Metric("rocketmq_timer_enqueue_latency", GAUGE, "Age of the oldest that is not in the wheel yet.")
        yield from (oldest.add(timer.waiting_ms(), **_MEDIUM), in_unit(oldest, "milliseconds"))
        overdue = Metric("rocketmq_timer_dequeue_lag", GAUGE, "Timers whose time has come and that are not delivered.")
        yield overdue.add(timer.wheeled.overdue(), **_MEDIUM)
        snapshot = Metric("rocketmq_timer_message_snapshot", GAUGE, "Timers that rest, by the seconds left; of a day.")
        for bound_s, count in timer.wheeled.by_distance().items():
            snapshot.add(count, timer_bound_s=str(bound_s), **_MEDIUM)
        yield snapshot
        counts, resting = self._stats.special, timer.resting.counts
        yield _by_topic("rocketmq_timing_messages", GAUGE, "Timers that rest.", resting, **_MEDIUM)
        yield _by_topic("rocketmq_timer_enqueue_total", COUNTER, "Put into the wheel.", counts.timers_in, **_MEDIUM)
        yield _by_topic("rocketmq_timer_dequeue_total", COUNTER, "Taken out of it.", counts.timers_out, **_MEDIUM)
        yield from _histograms(
            "rocketmq_delay_message_latency", "seconds", "How long delayed messages rested.", counts.delay_seconds,
            **_MEDIUM,
        )  # fmt: skip

    def _pop(self) -> Iterator[Metric]:
        counts = self._stats.special
        written = Metric("rocketmq_pop_revive_in_message_total", COUNTER, "Records written to the revive topic.")
        for (topic, group, kind, status), count in counts.revive_in.items():
            written.add(count, topic=topic, consumer_group=group, revive_message_type=kind, put_status=status)
        read = Metric("rocketmq_pop_revive_out_message_total", COUNTER, "Records read from the revive topic.")
        for (topic, group, kind, queue_id), count in counts.revive_out.items():
            read.add(count, topic=topic, consumer_group=group, revive_message_type=kind, queue_id=str(queue_id))
        retries = Metric("rocketmq_pop_revive_retry_messages_total", COUNTER, "Messages that POP gave back.")
        for (topic, group, status), count in counts.revive_retries.items():
            retries.add(count, topic=topic, consumer_group=group, put_status=status)
        yield from (written, read, retries)
        waiting = 0
        lag = Metric("rocketmq_pop_revive_lag", GAUGE, "Check points that wait.")
        latency = Metric("rocketmq_pop_revive_latency", GAUGE, "How long the oldest of them is overdue.")
        for number, count, late_ms in self._kinds.revive.behind():
            waiting += count
            lag.add(count, queue_id=str(number))
            latency.add(late_ms, queue_id=str(number))
        # a count that RocketMQ's exporter takes for a time
        yield from (lag, in_unit(lag, "milliseconds"), latency, in_unit(latency, "milliseconds"))
        yield Metric("rocketmq_pop_checkpoint_buffer_size", GAUGE, "Check points in memory.").add(waiting)


def _by_topic(name: str, kind: str, text: str, counts: Mapping[str, int], **labels: str) -> Metric:
    metric = Metric(name, kind, text)
    for topic, count in counts.items():
        metric.add(count, topic=topic, is_system="true" if is_system_topic(topic) else "false", **labels)
    return metric


def _histograms(name: str, unit: str, text: str, tables: Mapping[str, Histogram], **labels: str) -> Iterator[Metric]:
    metric = Metric(name, HISTOGRAM, text)
    for topic, found in tables.items():
        metric.add_histogram(found.bounds, found.counts, found.total, topic=topic, **labels)
    yield from (metric, in_unit(metric, unit))
