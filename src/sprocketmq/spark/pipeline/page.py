"""A report as one HTML page: figures, charts and tables, nothing to fetch; the Parquet files lie beside it.

It is read on a desktop, on a phone (tables scroll in their own frame, charts have a narrow form) and on paper.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from html import escape
from typing import Any

from sprocketmq.theme import tokens
from sprocketmq.theme.charts import areas, bars
from sprocketmq.theme.numbers import bound_text, size_text

Rows = list[dict[str, Any]]

_STYLE = """
* { box-sizing: border-box }
body { font: var(--text); color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 62rem; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2.2rem 0 .2rem }
p { color: var(--soft); margin: .2rem 0 .6rem }
a { color: var(--accent) } nav { margin: .6rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem }
.frame { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap }
th { color: var(--soft); font-weight: 600 } td.n, th.n { text-align: right; padding-right: 1.2rem }
svg { width: 100%; height: auto; display: block } svg text { fill: var(--soft) } svg .name { fill: var(--ink) }
.narrow { display: none }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.6rem, 1fr)); gap: .8rem; margin: 1.4rem 0 }
.figures div { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; color: var(--soft) }
.figures b { display: block; font-size: 1.25rem; white-space: nowrap; color: var(--ink) }
.figures .bad b { color: var(--bad) }
.bar { display: flex; align-items: center; gap: .6rem; padding: .15rem 0 }
.bar b { font-weight: 400; color: var(--soft) }
.bar span { flex: 0 0 34%; overflow-wrap: anywhere }
.bar i { height: 1rem; border-radius: 2px; background: var(--accent) }
@media (max-width: 600px) { body { margin: 1rem auto } .wide { display: none } .narrow { display: block } }
@page { margin: 14mm 12mm }
@media print {
  body { margin: 0; padding: 0 1px; max-width: none; font-size: 9pt } h2 { margin-top: 1.4rem }
  nav, a[download] { display: none } .wide { display: block } .narrow { display: none }
  h2, section > p { break-after: avoid } svg, .bars, tr, .figures { break-inside: avoid }
  .frame { overflow: visible } thead { display: table-header-group }
  tbody tr:first-child, tbody tr:nth-last-child(2) { break-after: avoid }
  th, td { white-space: normal; overflow-wrap: anywhere; padding: .15rem .7rem .15rem 0 }
  td.n, td.t { white-space: nowrap } th { overflow-wrap: normal } td.n, th.n { padding-right: .7rem }
  .figures { grid-template-columns: repeat(7, 1fr); gap: .4rem; margin: .8rem 0; font-size: 8pt }
  .figures div { padding: .4rem .5rem } .figures b { font-size: 11pt }
  .bar { padding: 0 } .bar i { height: .8rem; print-color-adjust: exact }
}
"""
#: Name of a table: heading, what it shows, and what it means when there is nothing to show.
_SECTIONS = {
    "topics": ("Topics", "Messages and bytes by topic.", "No message was found."),
    "throughput": ("Throughput", "Messages per second by topic, all to the same scale.", "No message was found."),
    "sizes": ("Sizes", "Messages by the bytes they take in the log.", "No message was found."),
    "latency": (
        "From producer to broker", "Milliseconds from born to stored; clocks of two machines may differ.",
        "No message was found.",
    ),
    "consumption": (
        "From producer to consumer", "By group, from the message trace; milliseconds.",
        "No trace was read: it is written by Producer(trace=True) and PushConsumer(trace=True), and read with the "
        "topic RMQ_SYS_TRACE_TOPIC.",
    ),
    "lag": ("Lag", "Messages that a group has not consumed yet.", "No group was asked for, or none has consumed."),
    "hot_keys": ("Hot keys", "The keys with the most messages.", "No message has a key."),
    "failures": (
        "Retries and dead letters", "By group and the topic the messages came from.",
        "None: no topic %RETRY%GROUP or %DLQ%GROUP with messages was read.",
    ),
}  # fmt: skip
_HEADS = {
    "bytes": "size", "first": "first (UTC)", "last": "last (UTC)", "p50": "p50 ms", "p95": "p95 ms",
    "p99": "p99 ms", "most": "max ms", "waitedP50": "waited p50 ms", "waitedP99": "waited p99 ms",
    "handledP50": "handled p50 ms", "handledP99": "handled p99 ms", "origin": "from topic",
}  # fmt: skip
_SIZES = ("bytes", "largest")
#: The class of a column, by what all of its values are: numbers, times.
_KINDS: dict[str, tuple[type, ...]] = {" class=n": (int, float), " class=t": (datetime,)}


def page(title: str, tables: dict[str, Rows], source: str = "") -> str:
    sections = "".join(_section(name, tables.get(name, [])) for name in _SECTIONS)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    about = ", ".join(filter(None, (source, _span(tables), f"made {made} by SprocketMQ")))
    links = "".join(f'<a href="#{name}">{heading}</a>' for name, (heading, _, _) in _SECTIONS.items())
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)} - SprocketMQ report</title>"
        f'<meta name=viewport content="width=device-width, initial-scale=1"><style>{tokens()}{_STYLE}</style>'
        f"<h1>{escape(title)}</h1><p>{escape(about)}</p><nav>{links}</nav>{_figures(tables)}{sections}</html>\n"
    )


def _span(tables: dict[str, Rows]) -> str:
    topics = [row for row in tables.get("topics", []) if row.get("first") and row.get("last")]
    if not topics:
        return ""
    first, last = min(row["first"] for row in topics), max(row["last"] for row in topics)
    return f"stored from {_text('first', first)} to {_text('last', last)} UTC"


def _figures(tables: dict[str, Rows]) -> str:
    topics, failures = tables.get("topics", []), tables.get("failures", [])
    dead = sum(int(row["messages"]) for row in failures if row.get("kind") == "dead letter")
    lag = sum(int(row["lag"]) for row in tables.get("lag", []))
    busiest = max((_total(rows) for rows in _by_moment(tables.get("throughput", [])).values()), default=0.0)
    slowest = max((float(row["p99"]) for row in tables.get("latency", []) if row.get("p99") is not None), default=None)
    figures = [
        ("messages", f"{sum(int(row['messages']) for row in topics):,}", False),
        ("in the log", size_text(sum(int(row["bytes"] or 0) for row in topics)), False),
        ("topics", f"{len(topics):,}", False),
        ("messages a second at most", f"{busiest:,.0f}", False),
        ("ms from born to stored, p99", "-" if slowest is None else f"{slowest:,.0f}", False),
        ("messages not consumed yet", f"{lag:,}", lag > 0),
        ("dead letters", f"{dead:,}", dead > 0),
    ]
    inside = "".join(f"<div{' class=bad' if bad else ''}><b>{text}</b>{name}</div>" for name, text, bad in figures)
    return f"<div class=figures>{inside}</div>"


def _by_moment(rows: Rows) -> dict[float, Rows]:
    found: dict[float, Rows] = defaultdict(list)
    for row in rows:
        found[float(row["second"])].append(row)
    return found


def _total(rows: Rows) -> float:
    return sum(float(row["perSecond"]) for row in rows)


def _section(name: str, rows: Rows) -> str:
    heading, text, nothing = _SECTIONS[name]
    link = f' <a href="{name}.parquet" download>Parquet</a>' if rows else ""
    shown = _shown(name, rows) if rows else f"<p>{escape(nothing)}</p>"
    return f"<section id={name}><h2>{heading}</h2><p>{text}{link}</p>{shown}</section>"


def _shown(name: str, rows: Rows) -> str:
    if name == "throughput":
        return _throughput(rows)
    if name == "sizes":
        return bars([(_bound(row["upTo"]), float(row["messages"])) for row in rows])
    if name == "hot_keys":
        return bars([(f"{row['key']} ({row['topic']})", float(row["messages"])) for row in rows])
    return _table(_SECTIONS[name][0], rows)


def _throughput(rows: Rows) -> str:
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        series[row["topic"]].append((float(row["second"]), float(row["perSecond"])))
    steps = (float(row["messages"]) / float(row["perSecond"]) for row in rows if row["perSecond"])
    return areas(dict(series), next(steps, 1.0))


def _bound(limit: int) -> str:
    return "larger" if limit >= 1 << 40 else f"up to {bound_text(limit)}"


def _table(label: str, rows: Rows) -> str:
    names = list(rows[0])
    kinds = {name: kind for kind, types in _KINDS.items() for name in names if _all(rows, name, types)}

    def cells(tag: str, values: list[tuple[str, str]]) -> str:
        parts = (f"<{tag}{kinds.get(name, '')}>{escape(text)}</{tag}>" for name, text in values)
        return f"<tr>{''.join(parts)}</tr>"

    body = "".join(cells("td", [(name, _text(name, row[name])) for name in names]) for row in rows)
    heads = cells("th", [(name, _HEADS.get(name, name)) for name in names])
    frame = f'<div class=frame tabindex=0 role=region aria-label="{label}">'  # who has no mouse scrolls it too
    return f"{frame}<table><thead>{heads}</thead><tbody>{body}</tbody></table></div>"


def _all(rows: Rows, name: str, types: tuple[type, ...]) -> bool:
    return all(isinstance(row[name], types) for row in rows)


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if name in _SIZES:
        return size_text(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
