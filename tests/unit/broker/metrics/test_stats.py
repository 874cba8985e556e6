from __future__ import annotations

from datetime import date

import pytest

from sprocketmq.broker.metrics.history import DAY, HOUR, MINUTE, Span, Window
from sprocketmq.broker.metrics.stats import SAMPLE_SECONDS, Stats, StatUnit

TODAY = date(2026, 1, 1)


class Ticks:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def stats(ticks: Ticks) -> Stats:
    return Stats("cluster", ticks)


def run(stats: Stats, ticks: Ticks, seconds: int, per_sample: int = 10) -> None:
    """Puts so many messages of 100 bytes before each sample."""
    for _ in range(seconds // SAMPLE_SECONDS):
        stats.put("T", 0, per_sample, per_sample * 100)
        ticks.now += SAMPLE_SECONDS
        stats.sample(TODAY)


def window_of(stats: Stats, name: str, key: str, span: Span = DAY) -> Window:
    figure = stats.get(name, key)
    assert figure is not None
    return figure.history.window(span, stats.clock())


@pytest.mark.parametrize(("span", "seconds"), [(MINUTE, 60), (HOUR, 3600), (DAY, 86_400)])
def test_a_window_holds_its_span_and_no_more(stats: Stats, ticks: Ticks, span: Span, seconds: int) -> None:
    run(stats, ticks, 2 * seconds + 600)
    window = window_of(stats, "TOPIC_PUT_NUMS", "T", span)
    assert window.tps == pytest.approx(1.0, rel=0.05)
    assert window.count == pytest.approx(seconds, rel=0.2)
    assert window.size == window.count * 100


def test_a_young_counter_is_told_of_at_once(stats: Stats, ticks: Ticks) -> None:
    stats.got("G", "T", 0, 5, 50)
    assert window_of(stats, "GROUP_GET_NUMS", "T@G").count == 5
    assert stats.tps("GROUP_GET_NUMS", "T@G") == pytest.approx(0.5)
    assert stats.tps("GROUP_GET_NUMS", "T@unknown") == 0.0


def test_rates_of_the_broker(stats: Stats, ticks: Ticks) -> None:
    assert stats.rates.tps(0) == (0.0, 0.0, 0.0)
    run(stats, ticks, 540, 10)
    run(stats, ticks, 60, 100)
    assert stats.rates.tps(0) == pytest.approx((10.0, 10.0, 1.9))
    run(stats, ticks, 10, 0)
    assert stats.rates.tps(0)[0] == 0.0


def test_totals_keep_what_deleted_topics_had(stats: Stats) -> None:
    stats.put("A", 0, 3, 30)
    stats.put("B", 0, 1, 10)
    stats.got("G", "A", 0, 2, 20)
    stats.sent_back("G", "A")
    stats.forget_topic("A")
    stats.forget_group("G")
    stats.add_up()
    assert (stats.broker_puts.count, stats.broker_gets.count) == (4, 2)
    assert stats.get("TOPIC_PUT_NUMS", "A") is None
    assert stats.get("SNDBCK_PUT_NUMS", "A@G") is None
    stats.put("A", 0, 1, 10)
    stats.add_up()
    assert stats.broker_puts.count == 5


def test_mornings(stats: Stats) -> None:
    for day, puts in ((1, 5), (2, 7), (2, 9), (3, 1)):
        stats.put("T", 0, puts, 0)
        stats.sample(date(2026, 1, day))
    assert stats.mornings.yesterday == (12, 0)
    assert stats.mornings.today == (22, 0)


def test_queues_are_counted_one_by_one_and_add_up(stats: Stats) -> None:
    stats.put("T", 0, 1, 10)
    stats.put("T", 2, 3, 30)
    stats.got("G", "T", 2, 2, 20, micros=5000)
    found = {
        name: (window_of(stats, name, key).count, window_of(stats, name, key).size)
        for name, key in [
            ("QUEUE_PUT_NUMS", "T@2"), ("QUEUE_PUT_SIZE", "T@0"), ("TOPIC_PUT_SIZE", "T"), ("QUEUE_GET_NUMS", "T@2@G"),
            ("GROUP_GET_LATENCY", "2@T@G"), ("TOPIC_PUT_LATENCY", "2@T"),
        ]
    }  # fmt: skip
    assert found == {
        "QUEUE_PUT_NUMS": (3, 30), "QUEUE_PUT_SIZE": (1, 10), "TOPIC_PUT_SIZE": (4, 40), "QUEUE_GET_NUMS": (2, 20),
        "GROUP_GET_LATENCY": (2, 20), "TOPIC_PUT_LATENCY": (3, 30),
    }  # fmt: skip
    assert window_of(stats, "GROUP_GET_LATENCY", "2@T@G").micros == 5000
    latency = stats.get("GROUP_GET_LATENCY", "2@T@G")
    assert latency is not None
    assert latency.unit is StatUnit.LATENCY


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("QUEUE_PUT_NUMS", "T@3"), ("QUEUE_PUT_NUMS", "T"), ("QUEUE_PUT_NUMS", "T@x"), ("QUEUE_GET_NUMS", "T@0"),
        ("TOPIC_PUT_LATENCY", "T@0"), ("NO_SUCH_NAME", "T"), ("BROKER_PUT_NUMS", "other cluster"), ("", ""),
        ("COMMERCIAL_SEND_TIMES", "T"),
    ],
)  # fmt: skip
def test_what_was_not_counted_is_not_there(stats: Stats, name: str, key: str) -> None:
    stats.put("T", 0, 1, 10)
    assert stats.get(name, key) is None


def test_pop_and_dead_letters_are_counted_by_topic_and_group(stats: Stats) -> None:
    stats.check_point("G", "T")
    stats.acked("G", "T", 3)
    stats.buried("G", "T")
    stats.put("rmq_sys_wheel_timer", 0, 5, 50)
    stats.put("T", 0, 1, 10)
    for name, key, count in [
        ("GROUP_CK_NUMS", "T@G", 1), ("GROUP_ACK_NUMS", "T@G", 3), ("DLQ_PUT_NUMS", "T@G", 1),
        ("SNDBCK2DLQ_TIMES", "T@G", 1), ("BROKER_ACK_NUMS", "cluster", 3), ("BROKER_CK_NUMS", "cluster", 1),
        ("BROKER_PUT_NUMS", "cluster", 6), ("BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC", "cluster", 1),
    ]:  # fmt: skip
        assert window_of(stats, name, key).count == count, name


def test_a_counter_that_rests_keeps_few_samples(stats: Stats, ticks: Ticks) -> None:
    run(stats, ticks, 10)
    stats.put("U", 0, 1, 1)
    run(stats, ticks, 172_800)
    figure = stats.get("TOPIC_PUT_NUMS", "U")
    assert figure is not None
    assert len(figure.history._samples) == 2
    assert window_of(stats, "TOPIC_PUT_NUMS", "U").count == 0
    busy = stats.get("TOPIC_PUT_NUMS", "T")
    assert busy is not None
    assert len(busy.history._samples) <= 80
