"""Sizes and times as histograms, under the names and with the bounds of RocketMQ 5.3.

rocketmq_message_size                              what was put, by topic; a batch counts as messages of one size
rocketmq_rpc_latency                               from a request to its answer, by request and response code
rocketmq_topic_create_execution_time, rocketmq_consumer_group_create_execution_time
"""

from __future__ import annotations

from collections.abc import Iterator

from sprocketmq.broker.metrics.counter import SMALL_BYTES
from sprocketmq.broker.metrics.put_labels import put_labels
from sprocketmq.broker.metrics.special_message_counts import Creations
from sprocketmq.broker.metrics.stats import QueueCounters, Stats
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.metrics.exposition import HISTOGRAM, Metric, in_unit
from sprocketmq.remoting.answer_times import BOUNDS_MS, UNKNOWN, AnswerTimes

_SIZES = (SMALL_BYTES, 4 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20)


class Distributions:
    def __init__(self, stats: Stats, times: AnswerTimes) -> None:
        self._stats = stats
        self._times = times

    def __call__(self) -> Iterator[Metric]:
        yield self._sizes()
        latency = self._latency()
        yield from (latency, in_unit(latency, "milliseconds"))
        special = self._stats.special
        for name, took in (("topic", special.topic_ms), ("consumer_group", special.group_ms)):
            creation = _creations(name, took)
            yield from (creation, in_unit(creation, "milliseconds"))

    def _sizes(self) -> Metric:
        metric = Metric("rocketmq_message_size", HISTOGRAM, "Bytes of messages that were put.")
        for topic, put in self._stats.puts.items():
            if put.count:
                metric.add_histogram(_SIZES, _counts(put), put.size, **put_labels(topic))
        return metric

    def _latency(self) -> Metric:
        metric = Metric("rocketmq_rpc_latency", HISTOGRAM, "Milliseconds from a request to its answer.")
        for kind in self._times.kinds.values():
            metric.add_histogram(
                BOUNDS_MS, kind.counts, kind.total_ns / 1e6, protocol_type="remoting",
                request_code=_name(RequestCode, kind.code), response_code=_name(ResponseCode, kind.response),
                is_long_polling=_flag(kind.waited), result="oneway" if kind.oneway else "success",
            )  # fmt: skip
        return metric


def _counts(put: QueueCounters) -> list[int]:
    large = put.large.counts
    return [put.count - sum(large), *large]


def _creations(name: str, took: Creations) -> Metric:
    metric = Metric(f"rocketmq_{name}_create_execution_time", HISTOGRAM, "Milliseconds that making one took.")
    for (status, is_system), found in took.items():
        labels = {"invocation_status": status, "is_system": _flag(is_system)}
        metric.add_histogram(found.bounds, found.counts, found.total, **labels)
    return metric


def _name(codes: type[RequestCode] | type[ResponseCode], code: int) -> str:
    """As RocketMQ writes them: the constant in small letters, a number where there is none."""
    if code == UNKNOWN:
        return "unknown"
    return codes(code).name.lower() if code in codes._value2member_map_ else str(code)


def _flag(value: bool) -> str:
    return "true" if value else "false"
