# cython: annotation_typing=False
"""The clocks of the operating system.

Every message that is put has the time, so this is compiled: read by Python, it took a twelfth of a send.
"""

from __future__ import annotations

import time

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

if not cython.compiled:
    from sprocketmq.hot.memory import wall_ms


class SystemClock:
    """A `Clock` (files.py)."""

    def now_ms(self) -> int:
        return wall_ms()

    def monotonic_ms(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
