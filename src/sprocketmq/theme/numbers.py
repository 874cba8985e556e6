"""Numbers as people read them: sizes, counts, and times that have passed."""

from __future__ import annotations

_STEPS = ((86_400, "d"), (3600, "h"), (60, "min"))


def size_text(count: int) -> str:
    """`6.7 MB`, and powers of two whole: `4 KiB`."""
    if count >= 1024 and count & (count - 1) == 0:
        return f"{count >> 20:,} MiB" if count >= 1 << 20 else f"{count >> 10:,} KiB"
    power = min(4, (len(str(count)) - 1) // 3)
    return f"{count} B" if not power else f"{count / 1000**power:.3g} {' kMGT'[power]}B"


def short(value: float) -> str:
    """`12.3k`, for a scale that has little room."""
    return f"{value / 1000:.3g}k" if value >= 10_000 else f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def span_text(seconds: float) -> str:
    """`3 min`, `2.5 h`: the largest unit that fits."""
    for length, unit in _STEPS:
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{max(seconds, 0):.2g} s"
