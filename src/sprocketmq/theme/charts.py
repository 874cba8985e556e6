"""Small charts, pure functions from numbers to text: areas over time as SVG, bars as HTML.

A chart over time is drawn twice, wide and narrow, and the page's style shows the one that fits: text in a picture that
is shrunk to a phone's width cannot be read. Each series has a panel of its own below the others, with the same times
and the same scale, and its name beside it: nothing hides anything, and there is no legend to look up.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from sprocketmq.theme.numbers import short

COLOURS = ("#2468b2", "#d1701f", "#2f8f5b", "#a4405f", "#6d5bb5", "#7c7a2c", "#30838f", "#8a5a3a")
_PANEL, _GAP, _BOTTOM, _LEFT = 64, 26, 22, 52
_PANELS = 8  # of one picture: more would not fit on a page, and a picture is cut where its page ends
_LEAST = 1.5  # what is little is not nothing
_WIDTHS = {"wide": 960, "narrow": 360}

Points = list[tuple[float, float]]


def areas(series: dict[str, Points], step: float) -> str:
    """A panel of steps per name; x is seconds since 1970 where a step of so many seconds begins."""
    every = [point for points in series.values() for point in points]
    if not every:
        return ""
    ends = min(x for x, _ in every), max(x for x, _ in every) + step
    top = max(y for _, y in every) or 1.0
    names = sorted(series)
    parts = [{name: series[name] for name in names[at : at + _PANELS]} for at in range(0, len(names), _PANELS)]
    return "".join(_picture(kind, width, part, ends, top, step) for part in parts for kind, width in _WIDTHS.items())


def bars(values: list[tuple[str, float]]) -> str:
    """One horizontal bar per value, the longest at full width; rows of a table, for a phone breaks their names."""
    top = max((value for _, value in values), default=0.0) or 1.0
    rows = (
        f'<div class="bar"><span>{escape(name)}</span><i style="width:{60 * value / top:.1f}%"></i>'
        f"<b>{value:,.0f}</b></div>"
        for name, value in values
    )
    return f'<div class="bars">{"".join(rows)}</div>'


def _picture(
    kind: str, width: int, series: dict[str, Points], ends: tuple[float, float], top: float, step: float
) -> str:
    parts, titles = [], []
    for number, (name, points) in enumerate(sorted(series.items())):
        base = (number + 1) * (_PANEL + _GAP)
        colour = COLOURS[number % len(COLOURS)]
        most = max(y for _, y in points)
        titles.append(title := f"{name}, at most {short(most)}/s")
        parts.append(f'<text x="{_LEFT}" y="{base - _PANEL - 6}" font-size="13" class="name">{escape(title)}</text>')
        parts.append(_scale(base, width, top))
        outline = _outline(sorted(points), step, ends, width, base, top)
        parts.append(f'<path d="{outline}" fill="{colour}" fill-opacity=".75"><title>{escape(title)}</title></path>')
    height = len(series) * (_PANEL + _GAP) + _BOTTOM
    parts.append(_times(ends, width, height))
    label = escape("; ".join(titles), quote=True)
    return f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _outline(
    points: Points, step: float, ends: tuple[float, float], width: int, base: float, top: float
) -> str:  # fmt: skip
    """Up, along and down again for each step; where there is no point there was nothing."""
    scale = (width - _LEFT - 4) / (ends[1] - ends[0])
    path = []
    for x, y in points:
        left = _LEFT + (x - ends[0]) * scale
        path.append(f"M{left:.1f},{base}v{-max(_LEAST, _PANEL * y / top):.1f}h{max(1.0, step * scale):.1f}V{base}z")
    return "".join(path)


def _scale(base: float, width: int, top: float) -> str:
    return (
        f'<line x1="{_LEFT}" x2="{width}" y1="{base}" y2="{base}" stroke="#8886"/>'
        f'<line x1="{_LEFT}" x2="{width}" y1="{base - _PANEL}" y2="{base - _PANEL}" stroke="#8883"/>'
        f'<text x="{_LEFT - 6}" y="{base - _PANEL + 10}" font-size="12" text-anchor="end">{short(top)}/s</text>'
        f'<text x="{_LEFT - 6}" y="{base}" font-size="12" text-anchor="end">0</text>'
    )


def _times(ends: tuple[float, float], width: int, height: int) -> str:
    form = "%H:%M:%S" if ends[1] - ends[0] < 86_400 else "%m-%d %H:%M"
    middle = ("middle", sum(ends) / 2) if width > 500 else None
    places = [("start", ends[0]), *([middle] if middle else []), ("end", ends[1])]
    scale = (width - _LEFT - 4) / (ends[1] - ends[0])
    return "".join(
        f'<text x="{_LEFT + (x - ends[0]) * scale:.1f}" y="{height - 6}" font-size="12" text-anchor="{anchor}">'
        f"{datetime.fromtimestamp(x, UTC).strftime(form)}</text>"
        for anchor, x in places
    )
