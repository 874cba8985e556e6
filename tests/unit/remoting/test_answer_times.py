"""How long answers took: counted one by one, timed by the read, and later ones by themselves."""

from __future__ import annotations

from sprocketmq.remoting.answer_times import AnswerTimes

MS = 1_000_000


def test_all_answers_of_a_read_took_as_long_as_it() -> None:
    times = AnswerTimes()
    for code, response, oneway in ((310, 0, False), (310, 0, False), (11, 19, False), (310, 0, False), (15, 0, True)):
        times.note(code, response, oneway)
    times.settle(4 * MS)
    counts = {key: kind.counts for key, kind in times.kinds.items()}
    within_5_ms = [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert counts == {
        (310, 0, False, False): [3 * count for count in within_5_ms],
        (11, 19, False, False): within_5_ms,
        (15, 0, True, False): within_5_ms,
    }
    times.settle(1)
    assert {key: kind.counts for key, kind in times.kinds.items()} == counts, "nothing is counted twice"


def test_a_time_on_a_bound_is_below_it() -> None:
    for took, place in ((0, 0), (MS, 0), (MS + 1, 1), (3 * MS, 1), (100 * MS, 5), (3000 * MS, 8), (3000 * MS + 1, 9)):
        times = AnswerTimes()
        times.note(310, 0, False)
        times.settle(took)
        (kind,) = times.kinds.values()
        assert kind.counts.index(1) == place, took
        assert kind.total_ns == took


def test_a_late_answer_has_a_time_of_its_own() -> None:
    times = AnswerTimes()
    times.note(310, 0, False)
    times.late(11, 0, 0.05, True)
    times.late(310, 0, 0.05, False)
    times.settle(MS)
    assert times.kinds[11, 0, False, True].counts[5] == 1
    assert times.kinds[310, 0, False, False].counts == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
