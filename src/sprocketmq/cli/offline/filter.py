"""`sprocket filter`: try an SQL92 expression on properties, alone or many by JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click
import orjson

from sprocketmq.cli.output.sql_warning import warn_of_ignored
from sprocketmq.errors import EvaluateError, FilterError
from sprocketmq.filter.sql import compile_sql

_WORDS = {True: "true", False: "false", None: "unknown"}


@click.command(name="filter")
@click.argument("expression", metavar="EXPR|-")
@click.option("--properties", metavar="JSON", default=None, help="The message's properties, as a JSON object.")
def filter_command(expression: str, properties: str | None) -> None:
    """Apply the SQL92 expression EXPR to the properties of a message.

    Prints true, false or unknown; a consumer gets the message only for true. An expression that does not compile is one
    line on stderr and exit code 2. An expression that cannot be applied to these properties (a property that is not the
    number it is compared with; a broker takes that for no match) prints nothing on stdout, one line on stderr, and
    exits with 1.

    With - in place of EXPR, reads JSON lines {"expr": ..., "properties": {...}} from stdin and answers each with one
    line {"outcome": "ok" | "compileError" | "evaluateError", "result": true | false | null, "matched": ...}, where
    matched is a broker's decision, null if it would refuse the subscription. A line that is no such object ends the run
    with its number and exit code 2.
    """
    if expression != "-":
        compiled = compile_sql(expression)
        warn_of_ignored(expression)
        click.echo(_WORDS[compiled.evaluate(_properties(_parsed(properties or "{}"), "--properties"))])
    elif properties is not None:
        raise FilterError("with - the properties come with each line, not by --properties")
    else:
        _answer_lines(sys.stdin.buffer)


def _answer_lines(lines: Iterable[bytes]) -> None:
    for number, line in enumerate(lines, 1):
        if line.strip():
            expression, properties = _question(line, number)
            sys.stdout.buffer.write(orjson.dumps(_answer(expression, properties)) + b"\n")
            sys.stdout.buffer.flush()


def _question(line: bytes, number: int) -> tuple[str, dict[str, str]]:
    where = f"line {number}"
    asked = _parsed(line, where)
    if not isinstance(asked, dict) or not isinstance(asked.get("expr"), str):
        raise FilterError(f'{where}: not an object with a text "expr"')
    return asked["expr"], _properties(asked.get("properties", {}), where)


def _answer(expression: str, properties: dict[str, str]) -> dict[str, object]:
    try:
        result = compile_sql(expression).evaluate(properties)
    except FilterError:
        return {"outcome": "compileError", "result": None, "matched": None}
    except EvaluateError:
        return {"outcome": "evaluateError", "result": None, "matched": False}
    return {"outcome": "ok", "result": result, "matched": result is True}


def _parsed(text: str | bytes, where: str = "--properties") -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise FilterError(f"{where}: not JSON: {error}") from None


def _properties(values: object, where: str) -> dict[str, str]:
    """Properties are text; a JSON number or boolean stands for its own spelling, null for a missing property."""
    if not isinstance(values, dict):
        raise FilterError(f"{where}: properties must be a JSON object")
    return {name: _text(value, f"{where}: property {name!r}") for name, value in values.items() if value is not None}


def _text(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return orjson.dumps(value).decode()
    raise FilterError(f"{where} must be text")
