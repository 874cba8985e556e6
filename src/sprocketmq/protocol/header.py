"""Custom headers: a declaration per request and response, one pair of functions for all of them.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class GetMinOffsetRequestHeader(TopicRequestHeader):
        topic: str = wire("topic")
        queue_id: int = wire("queueId")

Every value is a string in `extFields`: integers in decimal, booleans `true`/`false`, enums by name. None is not
written. A field without a default is required. Keys that a class does not declare are ignored: newer peers send more
than we know.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from typing import Any, TypeVar, get_type_hints

from sprocketmq.errors import CommandError
from sprocketmq.protocol.fields import Bits, bits_of, not_none, quoted, wire

H = TypeVar("H")
Parse = Callable[[str], Any]
Plan = tuple[tuple[str, str, Parse, bool], ...]
"""(attribute, wire key, parser, required) of every field."""

_plans: dict[type, Plan] = {}
_DECIMAL = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcRequestHeader:
    """What a proxy or a namespaced client adds to a request."""

    ns: str | None = wire("ns", default=None)
    nsd: bool | None = wire("nsd", default=None)
    bname: str | None = wire("bname", default=None)
    oway: bool | None = wire("oway", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequestHeader(RpcRequestHeader):
    """A request about a topic; `lo` tells a logical queue id of a static topic."""

    lo: bool | None = wire("lo", default=None)


def to_ext_fields(header: object) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, key, _, _ in _plan(type(header)):
        value = getattr(header, name)
        if value is not None:
            out[key] = value if type(value) is str else _text(value)
    return out


def from_ext_fields(cls: type[H], ext: Mapping[str, str] | None) -> H:
    """The header of class `cls` that `ext` holds, or CommandError."""
    ext, values, missing, key = ext or {}, {}, [], ""
    try:
        for name, key, parse, required in _plan(cls):
            text = ext.get(key)
            if text and parse is not str:
                values[name] = parse(text)
            elif text is not None and parse is str:
                values[name] = text
            elif required:  # absent, or an empty number, which is null in Java too
                missing.append(key)
    except (ValueError, KeyError):
        raise CommandError(f"{cls.__name__}.{key} cannot be {quoted(ext[key])}") from None
    if missing:
        raise CommandError(f"{cls.__name__} lacks {', '.join(missing)}")
    return cls(**values)


def _plan(cls: type) -> Plan:
    """Worked out once per class."""
    if (plan := _plans.get(cls)) is None:
        hints = get_type_hints(cls, include_extras=True)
        plan = _plans[cls] = tuple(
            (f.name, f.metadata["key"], _parser(not_none(hints[f.name])), f.default is MISSING) for f in fields(cls)
        )
    return plan


def _parser(hint: Any) -> Parse:
    if (bits := bits_of(hint)) is not None:
        return _integer_parser(bits)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda text: hint[text.upper()]
    parsers: dict[type, Parse] = {str: str, bool: _parse_bool, float: float}
    return parsers[hint]


@functools.cache
def _integer_parser(bits: Bits) -> Parse:
    low, high = bits.bounds

    def parse(text: str) -> int:
        value = int(text)
        if not low <= value <= high or (str(value) != text and not _DECIMAL.fullmatch(text)):
            raise ValueError(text)
        return value

    return parse


def _parse_bool(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _text(value: object) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    return value.name if isinstance(value, Enum) else str(value)
