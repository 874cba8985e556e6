"""Templates, and the forms in which they show numbers and times. What is put into a template is escaped."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sprocketmq.theme.numbers import counted, short, size_text, span_text

_TEMPLATES = Path(__file__).parents[1] / "templates"
_NOTHING = "–"


def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters |= {
        "count": count, "rate": rate, "size": size, "moment": moment, "ago": ago, "part": path_part, "span": span,
        "percent": percent, "counted": counted,
    }  # fmt: skip
    return made


def count(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.0f}"


def rate(value: float | None) -> str:
    return _NOTHING if value is None else f"{short(value) if value else '0'}/s"


def size(value: int | None) -> str:
    return _NOTHING if value is None else size_text(value) if value >= 0 else f"-{size_text(-value)}"


def span(milliseconds: float | None) -> str:
    return _NOTHING if milliseconds is None else span_text(milliseconds / 1000)


def percent(ratio: float | None) -> str:
    return _NOTHING if ratio is None else f"{100 * ratio:.0f} %"


def moment(milliseconds: int | None) -> Markup | str:
    """A time in UTC that programs can read as well."""
    if not milliseconds or milliseconds < 0:
        return _NOTHING
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):  # a peer's number that is no time
        return str(milliseconds)
    return Markup('<time datetime="{}">{}</time>').format(when.isoformat(), when.strftime("%Y-%m-%d %H:%M:%S"))


def ago(milliseconds: int | None) -> str:
    if not milliseconds or milliseconds < 0:
        return _NOTHING
    gone = time.time() - milliseconds / 1000
    return f"{span_text(gone)} ago" if gone >= 0 else f"in {span_text(-gone)}"


def path_part(name: Any) -> str:
    """A name as one part of a path: names may hold `%` and `|`."""
    return quote(str(name), safe="")
