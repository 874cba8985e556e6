"""A report as one HTML page: tables and inline SVG, nothing to fetch."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from html import escape
from typing import Any

from sprocketmq.spark.pipeline.charts import bars, lines

Rows = list[dict[str, Any]]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #66707d; --line: #d8dde4; --paper: #fff; --accent: #2468b2 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #98a2af; --line: #333b46; --paper: #14181e } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 62rem; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem } p { color: var(--soft) }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line) }
td.n, th.n { text-align: right } svg { width: 100%; height: auto; display: block } svg text { fill: var(--soft) }
.figures { display: flex; gap: 2.5rem; margin: 1.4rem 0 } .figures b { display: block; font-size: 1.5rem }
"""
_TITLES = {
    "topics": ("Topics", "Messages and bytes by topic."),
    "throughput": ("Throughput", "Messages per second over time."),
    "sizes": ("Sizes", "Messages by the bytes they take in the log."),
    "latency": ("From producer to broker", "Milliseconds from born to stored; clocks of two machines may differ."),
    "consumption": ("From producer to consumer", "By group, from the message trace; milliseconds."),
    "lag": ("Lag", "Messages that a group has not consumed yet."),
    "hot_keys": ("Hot keys", "The keys with the most messages."),
    "failures": ("Retries and dead letters", "By group and the topic the messages came from."),
}


def page(title: str, tables: dict[str, Rows]) -> str:
    sections = "".join(_section(name, tables.get(name, [])) for name in _TITLES)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>"
        f'<meta name=viewport content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(title)}</h1><p>{made}</p>{_figures(tables)}{sections}</html>\n"
    )


def _figures(tables: dict[str, Rows]) -> str:
    topics = tables.get("topics", [])
    figures = {
        "messages": sum(int(row["messages"]) for row in topics),
        "bytes": sum(int(row["bytes"] or 0) for row in topics),
        "topics": len(topics),
        "lag": sum(int(row["lag"]) for row in tables.get("lag", [])),
    }
    inside = "".join(f"<div><b>{value:,}</b>{name}</div>" for name, value in figures.items())
    return f"<div class=figures>{inside}</div>"


def _section(name: str, rows: Rows) -> str:
    heading, text = _TITLES[name]
    head = f"<h2>{heading}</h2><p>{text}</p>"
    if not rows:
        return f"{head}<p>Nothing.</p>"
    if name == "throughput":
        return head + _throughput(rows)
    if name == "sizes":
        return head + bars([(_size(row["upTo"]), float(row["messages"])) for row in rows])
    if name == "hot_keys":
        return head + bars([(f"{row['key']} ({row['topic']})", float(row["messages"])) for row in rows])
    return head + _table(rows)


def _throughput(rows: Rows) -> str:
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        series[row["topic"]].append((float(row["second"]), float(row["perSecond"])))
    return lines(dict(series))


def _size(limit: int) -> str:
    if limit >= 1 << 40:
        return "larger"
    unit = next((f"{limit // size} {name}" for size, name in ((1 << 20, "MiB"), (1024, "KiB")) if limit >= size), "")
    return f"up to {unit or f'{limit} B'}"


def _table(rows: Rows) -> str:
    names = list(rows[0])
    numbers = {name for name in names if all(isinstance(row[name], int | float) for row in rows)}

    def cells(tag: str, values: list[tuple[str, str]]) -> str:
        parts = (f"<{tag}{' class=n' if name in numbers else ''}>{escape(text)}</{tag}>" for name, text in values)
        return f"<tr>{''.join(parts)}</tr>"

    body = "".join(cells("td", [(name, _text(row[name])) for name in names]) for row in rows)
    return f"<table>{cells('th', [(name, name) for name in names])}{body}</table>"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return f"{value:,}" if isinstance(value, int) else str(value)
