"""The broker's figures under the names that RocketMQ 5 exports, so that its Grafana boards work unchanged.

Nothing is counted for them: a scrape reads the integers that the broker keeps anyway. A part that is added later gives
its own figures by appending to `Metrics.sources`.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sprocketmq.broker.metrics.put_labels import put_labels
from sprocketmq.broker.tables.offsets import SEPARATOR
from sprocketmq.codes import LanguageCode
from sprocketmq.metrics.errors import errors_logged
from sprocketmq.metrics.exposition import COUNTER, GAUGE, Labels, Metric, Source, exposition, in_unit
from sprocketmq.metrics.limits import limit_figures
from sprocketmq.protocol.enums import ConsumeType
from sprocketmq.protocol.names import is_retry_topic, is_system_group, is_system_topic
from sprocketmq.protocol.rocketmq_versions import version_name

if TYPE_CHECKING:
    from sprocketmq.broker.broker import Broker

_CONSUME_MODES = {ConsumeType.CONSUME_ACTIVELY: "pull", ConsumeType.CONSUME_PASSIVELY: "push"}


class Metrics:
    """`text` is one scrape in the Prometheus format."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.sources: list[Source] = [self._server, self._traffic, self._connections, self._lag, self._storage]

    def text(self) -> str:
        config = self._broker.settings.current
        node = {"cluster": config.broker_cluster_name, "node_type": "broker", "node_id": config.broker_name}
        return exposition(self.sources, node)

    def _server(self) -> Iterator[Metric]:
        broker = self._broker
        watermark = Metric("rocketmq_processor_watermark", GAUGE, "Requests that wait.")
        watermark.add(len(broker.acks), processor="send").add(len(broker.pulls.long_polls), processor="pull")
        yield watermark
        permission = broker.settings.current.broker_permission
        yield Metric("rocketmq_broker_permission", GAUGE, "4 readable, 2 writable.").add(permission)
        yield Metric("rocketmq_topic_number", GAUGE, "Topics.").add(len(broker.topics.configs))
        yield Metric("rocketmq_consumer_group_number", GAUGE, "Consumer groups.").add(len(broker.groups.configs))
        kept = {"waiting requests": broker.pulls.long_polls.waiting.kept_bytes}
        yield from limit_figures(broker.server.connections, kept, broker.refused())
        wrong = Metric("sprocketmq_wrong_keys_total", COUNTER, "Requests without a right signature of a known user.")
        yield wrong.add(broker.access.wrong_keys.count)
        lag = Metric("sprocketmq_loop_lag_seconds", GAUGE, "How long requests waited for the event loop.")
        yield lag.add(broker.pressure.lag_ms / 1000)
        yield errors_logged()

    def _traffic(self) -> Iterator[Metric]:
        stats = self._broker.stats
        yield from _pair("in", ((put_labels(topic), c.count, c.size) for topic, c in stats.puts.items()))
        yield from _pair("out", ((_group_labels(key), c.count, c.size) for key, c in stats.gets.items()))

    def _connections(self) -> Iterator[Metric]:
        producers: Tally[tuple[str, str]] = Tally()
        seen = set()
        for members in self._broker.producers.groups.values():
            for client in members.values():
                if client.connection not in seen:
                    seen.add(client.connection)
                    producers[_language(client.language), version_name(client.version)] += 1
        metric = Metric("rocketmq_producer_connections", GAUGE, "Connected producers.")
        for (language, version), count in producers.items():
            metric.add(count, language=language, version=version, protocol_type="remoting")
        yield metric
        yield self._consumer_connections()

    def _consumer_connections(self) -> Metric:
        metric = Metric("rocketmq_consumer_connections", GAUGE, "Connected consumers.")
        for group in self._broker.consumers:
            kinds = Tally((_language(c.language), version_name(c.version)) for c in group.members.values())
            for (language, version), count in kinds.items():
                metric.add(
                    count, consumer_group=group.name, language=language, version=version, protocol_type="remoting",
                    consume_mode=_CONSUME_MODES.get(group.consume_type, "pop"),
                    is_system="true" if is_system_group(group.name) else "false",
                )  # fmt: skip
        return metric

    def _lag(self) -> Iterator[Metric]:
        broker = self._broker
        lag = Metric("rocketmq_consumer_lag_messages", GAUGE, "Messages that a group has not consumed.")
        latency = Metric("rocketmq_consumer_lag_latency", GAUGE, "Milliseconds since the oldest of them was stored.")
        queueing = Metric("rocketmq_consumer_queueing_latency", GAUGE, "The same of the oldest that was not pulled.")
        inflight = Metric("rocketmq_consumer_inflight_messages", GAUGE, "Messages given out and not committed.")
        ready = Metric("rocketmq_consumer_ready_messages", GAUGE, "Messages that wait to be pulled.")
        now = broker.clock.now_ms()
        for key, committed in broker.offsets.table.items():
            topic = key.partition(SEPARATOR)[0]
            pulled = broker.offsets.pulled.get(key, {})
            behind = flying = 0
            oldest = oldest_waiting = now
            for queue_id, offset in committed.items():
                end = broker.store.max_offset(topic, queue_id)
                behind += max(0, end - offset)
                next_pull = max(offset, pulled.get(queue_id, offset))
                flying += next_pull - offset
                oldest = min(oldest, self._stored_ms(topic, queue_id, offset, end, now))
                oldest_waiting = min(oldest_waiting, self._stored_ms(topic, queue_id, next_pull, end, now))
            labels = _group_labels(key)
            lag.add(behind, **labels)
            latency.add(max(0, now - oldest), **labels)
            queueing.add(max(0, now - oldest_waiting), **labels)
            inflight.add(flying, **labels)
            ready.add(max(0, behind - flying), **labels)
        yield from (lag, inflight, ready, latency, in_unit(latency, "milliseconds"))
        yield from (queueing, in_unit(queueing, "milliseconds"))

    def _stored_ms(self, topic: str, queue_id: int, offset: int, end: int, now: int) -> int:
        """When the message at `offset` was stored; now, where there is none."""
        stored = self._broker.store.reader.message_store_timestamp(topic, queue_id, offset) if offset < end else now
        return stored if stored >= 0 else now

    def _storage(self) -> Iterator[Metric]:
        store = self._broker.store
        medium = {"storage_type": "local", "storage_medium": "disk"}
        end = store.log.max_offset
        size = Metric("rocketmq_storage_size", GAUGE, "Bytes of messages.").add(end - store.log.min_offset, **medium)
        yield from (size, in_unit(size, "bytes"))
        behind = Metric("rocketmq_storage_flush_behind_bytes", GAUGE, "Bytes that are not on disk yet.")
        yield behind.add(max(0, end - store.flushed_offset), **medium)
        behind = Metric("rocketmq_storage_dispatch_behind_bytes", GAUGE, "Bytes that consumers cannot see yet.")
        yield behind.add(max(0, end - store.dispatcher.dispatched_offset), **medium)
        held = Metric("sprocketmq_held_queues", GAUGE, "Queues whose file cannot be written, and takes no message.")
        yield held.add(len(store.held))
        damaged = Metric("sprocketmq_damaged_messages_total", COUNTER, "Messages that pulls passed over as damaged.")
        yield damaged.add(store.damaged.count)
        oldest = store.reader.log_earliest_time()
        reserve = Metric("rocketmq_storage_message_reserve_time", GAUGE, "Milliseconds since the oldest message.")
        reserve.add(max(0, self._broker.clock.now_ms() - oldest) if oldest >= 0 else 0, **medium)
        yield from (reserve, in_unit(reserve, "milliseconds"))


def _pair(way: str, figures: Iterable[tuple[Labels, int, int]]) -> Iterator[Metric]:
    messages = Metric(f"rocketmq_messages_{way}_total", COUNTER, f"Messages {way}.")
    throughput = Metric(f"rocketmq_throughput_{way}_total", COUNTER, f"Bytes {way}.")
    for labels, count, size in figures:
        messages.add(count, **labels)
        throughput.add(size, **labels)
    yield from (messages, throughput)


def _group_labels(key: str) -> Labels:
    topic, _, group = key.partition(SEPARATOR)
    is_system = is_system_topic(topic) or is_system_group(group)
    return {
        "topic": topic,
        "consumer_group": group,
        "is_retry": "true" if is_retry_topic(topic) else "false",
        "is_system": "true" if is_system else "false",
    }


def _language(code: int | None) -> str:
    return "other" if code is None or code not in LanguageCode._value2member_map_ else LanguageCode(code).name.lower()
