"""JSON as RocketMQ's Java side writes it (fastjson 1.x), read and written.

It is JSON, and beyond it: a map with integer keys leaves them bare, `{0:"10.0.0.1:10911"}`, and a map whose keys are
objects writes them as objects, `{{"brokerName":"b","queueId":1,"topic":"T"}:5}`. Here a bare integer key is an `int`
and an object key an `ObjectKey`. Null members are not written. Doubles look as Java prints them.

The pretty form, used for files: TABs, one member per line, `"key":value` without a blank. Only string keys start a
new line, so an integer-keyed map stays on one: `{0:0,1:4` and the closing brace on the next line.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any, Literal

import orjson

from sprocketmq.errors import BodyError
from sprocketmq.protocol.java_json import reader
from sprocketmq.protocol.java_json.reader import ObjectKey

__all__ = ["MAX_BYTES", "MAX_DEPTH", "ObjectKey", "dumps", "dumps_pretty", "loads"]

MAX_BYTES = 16 * 1024 * 1024  # a frame holds no more
MAX_DEPTH = reader.MAX_DEPTH

_first = itemgetter(0)
_UNICODE_ESCAPE = re.compile(r"\\u[0-9a-f]{4}")


def loads(data: bytes | str, limit: int = MAX_BYTES) -> Any:
    """The value in `data`; BodyError when it is no such JSON, longer than `limit` or too deep."""
    if len(data) > limit:
        raise BodyError(f"JSON of {len(data)} bytes, more than {limit}")
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return reader.read(data)
    _check_depth(value)
    return value


def dumps(
    value: Any, *, int_keys: Literal["bare", "quoted"] = "bare", ascii: bool = False, sort_keys: bool = False
) -> bytes:
    """`value` on one line. `quoted` keys make it standard JSON; `ascii` escapes every character beyond it."""
    return _Writer(int_keys == "quoted", ascii, sort_keys).text(value).encode()


def dumps_pretty(value: Any) -> bytes:
    """`value` as RocketMQ lays out its configuration files."""
    return _PrettyWriter().text(value).encode()


class _Writer:
    def __init__(self, quote_int_keys: bool = False, ascii: bool = False, sort_keys: bool = False) -> None:
        self._quote_int_keys, self._sort_keys = quote_int_keys, sort_keys
        self._string = _ascii_string if ascii else _string

    def text(self, value: Any) -> str:
        kind = type(value)
        if kind is str:
            return self._string(value)
        if kind is dict:
            return self._object(value)
        if kind in _ARRAYS:
            return self._array(value)
        return _scalar(value)

    def _object(self, members: dict[Any, Any]) -> str:
        items = sorted(members.items(), key=_first) if self._sort_keys else members.items()
        return "{" + ",".join([self._member(k, v) for k, v in items if v is not None]) + "}"

    def _array(self, items: Iterable[Any]) -> str:
        return "[" + ",".join(map(self.text, items)) + "]"

    def _member(self, key: Any, value: Any) -> str:
        return self._key(key) + ":" + self.text(value)

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return self._string(key)
        if isinstance(key, ObjectKey):
            text = self._object(dict(key))
            return self._string(text) if self._quote_int_keys else text
        return f'"{key:d}"' if self._quote_int_keys else f"{key:d}"


class _PrettyWriter(_Writer):
    _depth = 0

    def _object(self, members: dict[Any, Any]) -> str:
        present = [(key, value) for key, value in members.items() if value is not None]
        if not present:
            return "{}"
        self._depth += 1
        parts = [(self._line() if isinstance(k, str) else "") + self._member(k, v) for k, v in present]
        self._depth -= 1
        return "{" + ",".join(parts) + self._line() + "}"

    def _array(self, items: Iterable[Any]) -> str:
        items = list(items)
        if not any(isinstance(item, dict) for item in items):
            return super()._array(items)
        self._depth += 1
        parts = [self._line() + self.text(item) for item in items]
        self._depth -= 1
        return "[" + ",".join(parts) + self._line() + "]"

    def _line(self) -> str:
        return "\n" + "\t" * self._depth


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        nested = (node.values() if type(node) is dict else node for node in level)
        level = [child for children in nested for child in children if type(child) is dict or type(child) is list]
        if not level:
            return
    raise BodyError(f"JSON nested deeper than {MAX_DEPTH}")


def _string(text: str) -> str:
    try:
        return orjson.dumps(text).decode()
    except TypeError:  # a lone surrogate, which UTF-8 cannot carry
        raise BodyError("a text that is not Unicode") from None


def _ascii_string(text: str) -> str:
    return _UNICODE_ESCAPE.sub(lambda escape: "\\u" + escape[0][2:].upper(), encode_basestring_ascii(text))


def _scalar(value: Any) -> str:
    for kind, text in _SCALARS:
        if isinstance(value, kind):
            return text(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _double(value: float) -> str:
    """As Double.toString: plain from 1.0E-3 up to 1.0E7, else with an exponent, and always a digit after the point."""
    if not math.isfinite(value):
        return "null"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    from decimal import Decimal  # large, and few doubles are out of that range

    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{len(rest) + int(exponent)}"


_ARRAYS = frozenset({list, tuple, set, frozenset})
_SCALARS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (type(None), lambda _: "null"),
    (bool, lambda flag: "true" if flag else "false"),
    (int, lambda number: f"{number:d}"),
    (float, _double),
    (bytes, lambda raw: f'"{base64.b64encode(raw).decode()}"'),
)
