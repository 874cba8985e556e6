"""Rows for people and for programs: a table on a terminal, JSON when asked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click


def show(rows: Iterable[Mapping[str, Any]], as_json: bool, *, empty: str = "nothing found") -> None:
    """All rows have the same keys; these head the columns. JSON has the values as they are."""
    listed = list(rows)
    if as_json:
        echo_json(listed)
        return
    if not listed:
        click.echo(empty, err=True)
        return
    print_table(list(listed[0]), [[cell(value) for value in row.values()] for row in listed])


def show_one(row: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        echo_json(row)
        return
    width = max((len(key) for key in row), default=0)
    for key, value in row.items():
        click.echo(f"{key:<{width}}  {cell(value)}")


def echo_json(value: Any) -> None:
    click.echo(json_bytes(value))


def json_bytes(value: Any) -> bytes:
    import orjson

    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """On a terminal as rich draws it; pipes want whole lines, and do not wait for rich to be imported."""
    if not sys.stdout.isatty():
        _print_plain(columns, rows)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)


def _print_plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, ["─" * width for width in widths], *rows):
        click.echo("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def cell(value: Any) -> str:
    """None is not zero: it is shown as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(cell(item) for item in value) or "-"
    return str(value)


def moment(milliseconds: int | None) -> str | None:
    """A time for people, in the local zone."""
    if not milliseconds:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
