from __future__ import annotations

from datetime import date

import pytest

from sprocketmq.broker.stats import SAMPLE_SECONDS, Stats

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
        stats.put("T", per_sample, per_sample * 100)
        ticks.now += SAMPLE_SECONDS
        stats.sample(TODAY)


@pytest.mark.parametrize(("span", "seconds"), [("minute", 60), ("hour", 3600), ("day", 86_400)])
def test_a_window_holds_its_span_and_no_more(stats: Stats, ticks: Ticks, span: str, seconds: int) -> None:
    run(stats, ticks, 2 * seconds + 600)
    history = stats.get("TOPIC_PUT_NUMS", "T")
    assert history is not None
    window = history.window(getattr(history, span), ticks())
    assert window.tps == pytest.approx(1.0, rel=0.05)
    assert window.count == pytest.approx(seconds, rel=0.2)
    assert window.size == window.count * 100


def test_a_young_counter_is_told_of_at_once(stats: Stats, ticks: Ticks) -> None:
    stats.got("G", "T", 5, 50)
    history = stats.get("GROUP_GET_NUMS", "T@G")
    assert history is not None
    assert history.window(history.day, ticks()).count == 5
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
    stats.put("A", 3, 30)
    stats.put("B", 1, 10)
    stats.got("G", "A", 2, 20)
    stats.sent_back("G", "A")
    stats.forget_topic("A")
    stats.forget_group("G")
    stats.add_up()
    assert (stats.broker_puts.count, stats.broker_gets.count) == (4, 2)
    assert stats.get("TOPIC_PUT_NUMS", "A") is None
    assert stats.get("SNDBCK_PUT_NUMS", "A@G") is None
    stats.put("A", 1, 10)
    stats.add_up()
    assert stats.broker_puts.count == 5


def test_mornings(stats: Stats) -> None:
    for day, puts in ((1, 5), (2, 7), (2, 9), (3, 1)):
        stats.put("T", puts, 0)
        stats.sample(date(2026, 1, day))
    assert stats.mornings.yesterday == (12, 0)
    assert stats.mornings.today == (22, 0)
