from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from tests.unit.broker.support import Caller
from tests.unit.broker.transaction.test_handler import COMMIT, ROLLBACK, end, half

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.metrics.put_labels import put_labels
from sprocketmq.metrics.histogram import Histogram
from sprocketmq.protocol.names import SCHEDULE_TOPIC, TRANSACTION_HALF_TOPIC


def samples(broker: Broker) -> dict[tuple[str, str], float]:
    """By name and topic."""
    families = text_string_to_metric_families(broker.metrics.text())
    return {(s.name, s.labels.get("topic", "")): s.value for family in families for s in family.samples}


async def test_transactions_by_topic(broker: Broker, caller: Caller) -> None:
    await end(caller, await half(caller), COMMIT)
    await end(caller, await half(caller), ROLLBACK)
    await half(caller)
    found = samples(broker)
    assert found["rocketmq_commit_messages_total", "T"] == 1
    assert found["rocketmq_rollback_messages_total", "T"] == 1
    assert found["rocketmq_half_messages", "T"] == 1
    assert found["rocketmq_finish_message_latency_count", "T"] == 2
    assert found["rocketmq_finish_message_latency_milliseconds_count", "T"] == 2


async def test_a_repeated_end_counts_once(broker: Broker, caller: Caller) -> None:
    where = await half(caller)
    for _ in range(3):
        await end(caller, where, COMMIT)
    assert samples(broker)["rocketmq_commit_messages_total", "T"] == 1


async def test_what_rested_and_what_was_given_up(broker: Broker) -> None:
    special = broker.stats.special
    special.rested("T", 90_000)
    special.revive_in["T", "G", "CK", "PUT_OK"] += 2
    special.revive_retries["T", "G", "PUT_OK"] += 1
    broker.stats.buried("G", "T")
    found = samples(broker)
    assert found["rocketmq_delay_message_latency_sum", "T"] == 90
    assert found["rocketmq_pop_revive_in_message_total", "T"] == 2
    assert found["rocketmq_pop_revive_retry_messages_total", "T"] == 1
    assert found["rocketmq_send_to_dlq_messages_total", "T"] == 1


async def test_timers_have_the_labels_of_rocketmq(broker: Broker) -> None:
    broker.stats.special.timers_in["T"] += 2
    broker.stats.special.timers_out["T"] += 1
    broker.stats.special.rested("T", 1)
    found = {
        (sample.name, sample.labels.get("topic")): sample.labels
        for family in text_string_to_metric_families(broker.metrics.text())
        for sample in family.samples
    }
    for name in ("timer_enqueue_total", "timer_dequeue_total", "delay_message_latency_seconds_count"):
        assert found[f"rocketmq_{name}", "T"].items() >= {"storage_type": "local", "storage_medium": "disk"}.items()
    assert found["rocketmq_timer_message_snapshot", None]["timer_bound_s"] == "86400"
    for name in (
        "timer_message_snapshot",
        "timer_enqueue_latency",
        "timer_enqueue_latency_milliseconds",
        "timer_dequeue_lag",
    ):
        assert found[f"rocketmq_{name}", None]["storage_medium"] == "disk"


def test_what_waits_has_the_type_for_which_it_waits() -> None:
    types = {topic: put_labels(topic)["message_type"] for topic in (SCHEDULE_TOPIC, TRANSACTION_HALF_TOPIC, "T")}
    assert types == {SCHEDULE_TOPIC: "delay", TRANSACTION_HALF_TOPIC: "transaction", "T": "normal"}


async def test_a_topic_that_is_gone_leaves_nothing(broker: Broker) -> None:
    broker.stats.special.rested("T", 1)
    broker.stats.special.timers_in["T"] += 1
    broker.stats.special.finished("T", 1, committed=True)
    broker.stats.special.revive_in["T", "G", "CK", "PUT_OK"] += 1
    broker.stats.special.revive_out["T", "G", "CK", 0] += 1
    broker.stats.special.revive_retries["T", "G", "PUT_OK"] += 1
    broker.stats.forget_topic("T")
    assert not [name for name, topic in samples(broker) if topic == "T"]


def test_a_value_on_a_bound_is_below_it() -> None:
    histogram = Histogram((1, 10))
    for value in (0.5, 1, 1.5, 10, 11):
        histogram.note(value)
    assert (histogram.counts, histogram.total) == ([2, 2, 1], 24)
