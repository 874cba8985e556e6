"""Lines over time, as SVG in the colours of the page: a wide form and one for a phone; the style shows one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from markupsafe import Markup, escape

from sprocketmq.dashboard.cluster.history import Point
from sprocketmq.theme.numbers import short

_SIZES = {"wide": (720, 150), "narrow": (340, 150)}
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 10, 22
#: Nobody looked for so long: the line is broken there.
_GAP_S = 20.0


def lines(series: Mapping[str, Sequence[Point]], title: str, unit: str = "") -> Markup:
    """One line per name, all to one scale. Fewer than two points are no line yet: then a sentence says so."""
    every = [point for points in series.values() for point in points]
    if len({when for when, _ in every}) < 2:
        return Markup('<p class="nothing">The chart fills in while this page is open.</p>')
    ends = min(when for when, _ in every), max(when for when, _ in every)
    top = _round_up(max(value for _, value in every))
    pictures = (_picture(kind, series, ends, top, title, unit) for kind in _SIZES)
    return Markup("").join([Markup('<figure class="chart">'), *pictures, _legend(series, unit), Markup("</figure>")])


def spark(points: Sequence[Point], title: str) -> Markup:
    """A line without a scale, beside a figure."""
    if len(points) < 2:
        return Markup("")
    ends, top = (points[0][0], points[-1][0]), max(value for _, value in points) or 1.0
    drawn = _path(points, ends, top, (0, 120, 2, 28))
    return Markup(
        '<svg class="spark" viewBox="0 0 120 30" role="img" aria-label="{}"><path class="s1" d="{}"/></svg>'
    ).format(title, drawn)


def _picture(
    kind: str, series: Mapping[str, Sequence[Point]], ends: tuple[float, float], top: float, title: str, unit: str
) -> Markup:
    width, height = _SIZES[kind]
    box = (_LEFT, width - _RIGHT, _TOP, height - _BOTTOM)
    parts = [_scale(box, top, unit), _times(box, ends, height)]
    for number, points in enumerate(series.values(), 1):
        path = _path(points, ends, top, box)
        parts.append(Markup('<path class="s{0}" d="{1}"/>').format(number, path))
    label = f"{title}: " + ", ".join(
        f"{name} now {short(points[-1][1])}{unit}, at most {short(max(value for _, value in points))}{unit}"
        for name, points in series.items()
        if points
    )
    inside = Markup("").join(parts)
    return Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        kind, width, height, label, inside
    )


def _path(points: Sequence[Point], ends: tuple[float, float], top: float, box: tuple[int, int, int, int]) -> str:
    left, right, upper, lower = box
    across = (right - left) / ((ends[1] - ends[0]) or 1.0)
    drawn, last = [], None
    for when, value in points:
        place = f"{left + (when - ends[0]) * across:.1f},{lower - (lower - upper) * value / top:.1f}"
        # a point that stands alone is a line of no length, which round ends make a dot
        drawn.append(f"M{place}h0" if last is None or when - last > _GAP_S else f"L{place}")
        last = when
    return "".join(drawn)


def _scale(box: tuple[int, int, int, int], top: float, unit: str) -> Markup:
    left, right, upper, lower = box
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = lower - (lower - upper) * share
        parts.append(
            Markup(
                '<line class="grid" x1="{0}" x2="{1}" y1="{2}" y2="{2}"/><text x="{3}" y="{4}" class="left">{5}</text>'
            ).format(left, right, y, left - 6, y + 4, f"{short(top * share)}{unit}" if share else "0")
        )
    return Markup("").join(parts)


def _times(box: tuple[int, int, int, int], ends: tuple[float, float], height: int) -> Markup:
    left, right, _, _ = box
    places = (("start", left, ends[0]), ("end", right, ends[1]))
    return Markup("").join(
        Markup('<text x="{}" y="{}" class="{}">{}</text>').format(
            x, height - 6, anchor, datetime.fromtimestamp(when, UTC).strftime("%H:%M:%S")
        )
        for anchor, x, when in places
    )


def _legend(series: Mapping[str, Sequence[Point]], unit: str) -> Markup:
    items = (
        Markup('<li><i class="s{}"></i>{} <b>{}{}</b></li>').format(
            number, escape(name), short(points[-1][1]) if points else "–", unit
        )
        for number, (name, points) in enumerate(series.items(), 1)
    )
    return Markup('<figcaption><ul class="legend">{}</ul></figcaption>').format(Markup("").join(items))


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20... above, so that a scale has plain numbers."""
    step = 1.0
    while step < value:
        for factor in (2.0, 2.5, 2.0):
            step *= factor
            if step >= value:
                break
    return step
