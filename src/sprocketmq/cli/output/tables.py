"""Rows for people and for programs: a table or records on a terminal, JSON when asked.

A row's keys are snake_case and its values have types: that is what JSON shows, with times as ISO 8601 in UTC with
milliseconds. A table has the same keys as headings, with blanks, and times in the local zone.

A table that is wider than the terminal is set closer, with the words of a heading below each other; where not even
that fits it is shown as records, one line for each value: nothing is ever cut off.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

import click

_LOOSE, _CLOSE = "   ", "  "


class Ratio(float):
    """A part of one; people see percents."""


def show(rows: Iterable[Mapping[str, Any]], as_json: bool, *, empty: str = "nothing found") -> None:
    """All rows have the same keys."""
    listed = list(rows)
    if as_json:
        echo_json(listed)
        return
    if not listed:
        click.echo(empty, err=True)
        return
    print_table([heading(key) for key in listed[0]], [[cell(value) for value in row.values()] for row in listed])


def heading(key: str) -> str:
    return key.replace("_", " ")


def show_one(row: Mapping[str, Any], as_json: bool, *, names: Callable[[str], str] = heading) -> None:
    """`names` is `str` for keys that are names themselves, such as those of a configuration."""
    if as_json:
        echo_json(row)
        return
    _print_record([(names(key), cell(value)) for key, value in row.items()])


def say(row: Mapping[str, Any], text: str, as_json: bool) -> None:
    """What was done: a sentence, or the same as JSON."""
    if as_json:
        echo_json(row)
    else:
        click.echo(text)


def echo_json(value: Any) -> None:
    click.echo(json_bytes(value))


def json_bytes(value: Any) -> bytes:
    import orjson

    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, float):
        return float(value)
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Pipes get whole lines, however long; a terminal gets what fits."""
    room = _terminal_width() if sys.stdout.isatty() else sys.maxsize
    for gap, words in ((_LOOSE, [[text] for text in columns]), (_CLOSE, [text.split() for text in columns])):
        heads = list(zip_longest(*words, fillvalue=""))
        widths = [max(map(len, column)) for column in zip(*heads, *rows, strict=True)]
        if sum(widths) + len(gap) * (len(widths) - 1) <= room:
            _print_lines(heads, rows, widths, gap)
            return
    for row in rows:
        _print_record(list(zip(columns, row, strict=True)))
        click.echo()


def _print_lines(
    heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], widths: Sequence[int], gap: str
) -> None:
    rule = [_rule() * width for width in widths]
    for number, row in enumerate((*heads, rule, *rows)):
        line = gap.join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        click.echo(bold(line) if number < len(heads) else line)


def _rule() -> str:
    """A line, where the output has one: files and pipes of Windows are often in cp1252."""
    try:
        "─".encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "-"
    return "─"


def bold(text: str) -> str:
    """For terminals; a person who wants plain text sets NO_COLOR."""
    return text if os.environ.get("NO_COLOR") or not sys.stdout.isatty() else click.style(text, bold=True)


def _print_record(pairs: Sequence[tuple[str, str]]) -> None:
    width = max((len(key) for key, _ in pairs), default=0)
    for key, value in pairs:
        click.echo(f"{bold(key.ljust(width))}  {value}")


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns


def cell(value: Any) -> str:
    """None is not zero: it is shown as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Ratio):
        return f"{value:.0%}"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={cell(item)}" for key, item in value.items()) or "-"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(cell(item) for item in value) or "-"
    return str(value)


def moment(milliseconds: int | None) -> datetime | None:
    """A time as RocketMQ tells it; None for never."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds and milliseconds > 0 else None


def number(text: str) -> bool | int | float | str:
    """A figure that came as text, as what it is; `04` is no number, for it would not come back the same."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def figures(text: str) -> Any:
    """The same, for several figures in a row as well: rates are told as three averages."""
    parts = [number(part) for part in text.split()]
    rates = len(parts) > 1 and all(isinstance(part, (int, float)) for part in parts)
    return parts if rates else number(text)


_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"-?(0|[1-9]\d*)")
_FLOAT = re.compile(r"-?\d+\.\d+")
