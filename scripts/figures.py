"""Writes docs/figures.md from bench/RESULTS.md: how much faster than the peer, measured in one run, as bars.

python scripts/figures.py           writes the page
python scripts/figures.py --check   fails when the page is not what the results say
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs" / "figures.md", ROOT / "bench" / "RESULTS.md"

#: A row: its name, the runs, and the ratio before `end`. A long name is one space away from its first run.
_ROW = r"^(\S.*?) +\d[\d,]* +\d.* ([\d.]+)  \({end}"
#: Heading in the results, what its bars mean, and the pattern of its rows.
CHARTS = (
    ("Broker:", "Messages a second, ours / Apache RocketMQ 5.3.3", re.compile(_ROW.format(end="at least"))),
    ("Spark beside", "Rows a second, ours / Spark's Kafka source", re.compile(_ROW.format(end="target"))),
)
HEAD = """# Figures

Made from `bench/RESULTS.md` by `scripts/figures.py`; there are the commands, the machine, every run, and what did not
come out well. Both sides of a ratio come from one run on one machine, in turns.
"""
_WIDTH, _BAR, _LEFT = 640, 26, 190


def rows(heading: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, float]]:
    text = RESULTS.read_text()
    section = text[text.index(f"## {heading}") :].split("\n## ", 1)[0]
    for line in section.splitlines():
        if found := pattern.match(line):
            yield found[1], float(found[2])


def chart(title: str, bars: list[tuple[str, float]]) -> Iterator[str]:
    longest = max(ratio for _, ratio in bars)
    height = _BAR * len(bars) + 30
    yield f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}" style="max-width: {_WIDTH}px">'
    scale = (_WIDTH - _LEFT - 70) / longest
    for at, (name, ratio) in enumerate(bars):
        y, length = at * _BAR, ratio * scale
        yield f'<text x="{_LEFT - 10}" y="{y + 17}" text-anchor="end" font-size="13" fill="currentColor">{name}</text>'
        yield f'<rect x="{_LEFT}" y="{y + 4}" width="{length:.0f}" height="{_BAR - 8}" rx="3" fill="#1f7a6d"/>'
        yield f'<text x="{_LEFT + length + 8:.0f}" y="{y + 17}" font-size="13" fill="currentColor">{ratio:g}x</text>'
    one, bottom = _LEFT + scale, height - 26
    yield f'<line x1="{one:.0f}" x2="{one:.0f}" y1="0" y2="{bottom}" stroke="currentColor" stroke-dasharray="3 3"/>'
    yield f'<text x="{one:.0f}" y="{height - 8}" text-anchor="middle" font-size="12" fill="currentColor">1x</text>'
    yield "</svg>"


def page() -> str:
    lines = [HEAD]
    for heading, title, pattern in CHARTS:
        bars = list(rows(heading, pattern))
        table = [f"| {name} | {ratio:g}x |" for name, ratio in bars]
        lines += [f"## {title}", "", *chart(title, bars), "", "| | ratio |", "|---|--:|", *table, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        raise SystemExit(f"{PAGE.name} is not what the results say: run {Path(__file__).name}")
