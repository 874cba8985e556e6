from __future__ import annotations

from pathlib import Path

from tests.unit.store.support import batch, open_store, put

from sprocketmq.store.log.put_latency import PutTimes


def test_puts_are_counted_as_rocketmq_shows_them() -> None:
    times = PutTimes()
    for us in (0, 3, 999, 1000, 9_999, 10_000, 49_999, 700_000, 9_999_999, 10_000_000, 60_000_000):
        times.note(us * 1000)
    assert times.distribution() == (
        "[<=0ms]:3 [0~10ms]:2 [10~50ms]:2 [50~100ms]:0 [100~200ms]:0 [200~500ms]:0 [500ms~1s]:1 [1~2s]:0 [2~3s]:0 "
        "[3~4s]:0 [4~5s]:0 [5~10s]:1 [10s~]:2"
    )


def test_a_share_of_the_puts_stays_below_a_bound() -> None:
    times = PutTimes()
    assert times.within_ms(0.99) == 0
    for _ in range(98):
        times.note(1_500)  # 1 us is the bucket below 2 us
    times.note(7_000_000)
    times.note(8_000_000)
    assert times.within_ms(0.5) == 0.002
    assert times.within_ms(0.99) == times.within_ms(1) == 8.0


def test_the_store_counts_its_puts_and_batches(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store)
    store.put_batch("T", 0, 0, batch((b"1", b""), (b"2", b"")), b"", 0, bytes(8), 0)
    put(store, topic="no good")
    times = store.appender.times
    assert sum(times.quick) + sum(times.slow) == 2
    store.close()
