"""Numbers as people read them: sizes, counts, and times that have passed. Three digits, and never an exponent."""

from __future__ import annotations

_UNITS = ("", "k", "M", "G", "T", "P", "E")
_STEPS = ((86_400, "d"), (3600, "h"), (60, "min"))


def size_text(count: int) -> str:
    """`6.71 MB`: in one unit whatever the number, so that a column can be compared."""
    value, unit = _scaled(count, _UNITS)
    return f"{value} {unit}B"


def bound_text(count: int) -> str:
    """A bound that is a power of two, whole: `4 KiB`."""
    if count >= 1024 and count & (count - 1) == 0:
        return f"{count >> 20:,} MiB" if count >= 1 << 20 else f"{count >> 10:,} KiB"
    return size_text(count)


def counted(number: int, what: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def short(value: float) -> str:
    """`12.3k`, for a scale that has little room."""
    if abs(value) >= 10_000:
        return "".join(_scaled(value, _UNITS))
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


def span_text(seconds: float) -> str:
    """`3 min`, `2.5 h`: the largest unit that fits."""
    for length, unit in _STEPS:
        if seconds >= length:
            return f"{_three(seconds / length)} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{max(seconds, 0):.2g} s"


def _scaled(value: float, units: tuple[str, ...]) -> tuple[str, str]:
    """The number and its unit; 999,999 is one of the next unit, not a thousand of this one."""
    power = 0
    while abs(value) >= 999.5 and power < len(units) - 1:
        value, power = value / 1000, power + 1
    return _three(value), units[power]


def _three(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
