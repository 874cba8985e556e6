"""`sprocket inspect`: raw bytes, decoded; one object per frame or record."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from sprocketmq.cli.output import inspect_json

Decode = Callable[[bytes], Iterator[dict[str, Any]]]

_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)
_FILES = click.argument("files", nargs=-1, metavar="[FILE]...", type=_FILE)
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")


@click.group("inspect")
def inspect() -> None:
    """Decode raw bytes: remoting frames or stored messages, from files or from standard input (-)."""


@inspect.command()
@_FILES
@_JSON
def frame(files: tuple[str, ...], as_json: bool) -> None:
    """Remoting frames, back to back."""
    _show(files, as_json, inspect_json.frames)


@inspect.command()
@_FILES
@_JSON
@click.option("--batch", is_flag=True, help="The bytes are the body of a batch send.")
def message(files: tuple[str, ...], as_json: bool, batch: bool) -> None:
    """Messages as a CommitLog or a pull answer holds them, back to back."""
    _show(files, as_json, inspect_json.batch_entries if batch else inspect_json.records)


def _show(files: tuple[str, ...], as_json: bool, decode: Decode) -> None:
    names = files or ("-",)
    damaged = False
    for name in names:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        for found in decode(data):
            damaged |= "error" in found
            labelled = {"file": name, **found} if len(names) > 1 else found
            click.echo(_json_line(labelled) if as_json else _lines(labelled))
    if damaged:
        raise SystemExit(1)


def _json_line(found: dict[str, Any]) -> str:
    """One line for every reader: some end a line at these characters too, which JSON may hold as they are."""
    line = orjson.dumps(found).decode()
    for char in "\x85\u2028\u2029":
        line = line.replace(char, f"\\u{ord(char):04x}")
    return line


def _lines(found: dict[str, Any]) -> str:
    """One field per line under the first; nested ones further in."""
    lines: list[str] = []
    for name, value in found.items():
        if isinstance(value, dict):
            lines.append(f"{name}:")
            lines += [f"    {key} = {_plain(item)}" for key, item in value.items()]
        elif value is not None:
            lines.append(f"{name}: {_plain(value)}")
    return "\n  ".join(lines)


def _plain(value: object) -> str:
    """Control characters would play with the terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(value))
