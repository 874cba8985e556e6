from __future__ import annotations

import time

from sprocketmq.store.files.system_clock import SystemClock


def test_both_clocks_are_those_of_the_system_in_milliseconds() -> None:
    clock = SystemClock()
    before = time.time_ns() // 1_000_000, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    read = clock.now_ms(), clock.monotonic_ms()
    after = time.time_ns() // 1_000_000, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    assert before[0] <= read[0] <= after[0]
    assert before[1] <= read[1] <= after[1]
