"""Small SVG charts: lines over time, and bars. Pure functions from numbers to text."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 960, 260, 64, 28, 12
COLOURS = ("#2468b2", "#d1701f", "#2f8f5b", "#a4405f", "#6d5bb5", "#7c7a2c", "#30838f", "#8a5a3a")

Points = list[tuple[float, float]]


def lines(series: dict[str, Points]) -> str:
    """One line per name; x is seconds since 1970."""
    every = [point for points in series.values() for point in points]
    if not every:
        return ""
    left, right = min(x for x, _ in every), max(x for x, _ in every)
    top = max(y for _, y in every) or 1.0
    parts = [_grid(top), _times(left, right)]
    for number, (name, points) in enumerate(sorted(series.items())):
        colour = COLOURS[number % len(COLOURS)]
        places = " ".join(f"{_x(x, left, right):.1f},{_y(y, top):.1f}" for x, y in sorted(points))
        mark = f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{places}"/>'
        if len(points) == 1:
            mark = f'<circle fill="{colour}" r="4" cx="{places.split(",")[0]}" cy="{places.split(",")[1]}"/>'
        parts += [mark, _legend(number, name, colour)]
    return _svg(_HEIGHT + 18 * ((len(series) + 3) // 4), parts)


def bars(values: list[tuple[str, float]]) -> str:
    """One horizontal bar per value, longest value at full width."""
    top = max((value for _, value in values), default=0.0) or 1.0
    parts = []
    for number, (name, value) in enumerate(values):
        y, width = number * 26 + 4, 560 * value / top
        parts.append(f'<text x="0" y="{y + 15}" font-size="13">{escape(name[:42])}</text>')
        parts.append(f'<rect x="320" y="{y}" width="{width:.1f}" height="20" rx="2" fill="{COLOURS[0]}"/>')
        parts.append(f'<text x="{326 + width:.1f}" y="{y + 15}" font-size="13">{value:,.0f}</text>')
    return _svg(len(values) * 26 + 8, parts)


def _x(x: float, left: float, right: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - 10) * ((x - left) / (right - left) if right > left else 0.5)


def _y(y: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * y / top


def _grid(top: float) -> str:
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = _y(top * share, top)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884"/>')
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" font-size="12" text-anchor="end">{top * share:,.0f}</text>'
        )
    return "".join(parts)


def _times(left: float, right: float) -> str:
    parts = []
    for x, anchor in ((left, "start"), (right, "end")):
        text = datetime.fromtimestamp(x, UTC).strftime("%m-%d %H:%M:%S")
        place = f'x="{_x(x, left, right):.1f}" y="{_HEIGHT - 8}"'
        parts.append(f'<text {place} font-size="12" text-anchor="{anchor}">{text}</text>')
    return "".join(parts)


def _legend(number: int, name: str, colour: str) -> str:
    x, y = _LEFT + number % 4 * 220, _HEIGHT + 10 + number // 4 * 18
    return (
        f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        f'<text x="{x + 16}" y="{y}" font-size="12">{escape(name[:28])}</text>'
    )


def _svg(height: int, parts: list[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">{"".join(parts)}</svg>'
