"""How a declaration names its wire fields. Headers and JSON bodies are frozen dataclasses of such fields.

The type says what travels: `int` is Java's 32-bit int and `Long` its 64-bit long; both are plain `int` to Python.
`T | None` may be absent, which on the wire is the same as null.
"""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, field
from typing import Annotated, Any


@dataclass(frozen=True, slots=True)
class Bits:
    """The width of a Java integer."""

    count: int

    @property
    def bounds(self) -> tuple[int, int]:
        return -(1 << self.count - 1), (1 << self.count - 1) - 1


INT = Bits(32)
LONG = Bits(64)
Long = Annotated[int, LONG]


def wire(key: str, *, omit_empty: bool = False, **options: Any) -> Any:
    """A field that travels under `key`.

    In a JSON body an empty value stands for Java's null, and is not written, when the default is an empty text or
    when `omit_empty` says so.
    """
    omit_empty = omit_empty or options.get("default") in ("", b"")
    return field(metadata={"key": key, "omit_empty": omit_empty}, **options)


def not_none(hint: Any) -> Any:
    """`T` of `T | None`, and any other type as it is."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(arm for arm in typing.get_args(hint) if arm is not type(None))
    return hint


def bits_of(hint: Any) -> Bits | None:
    """The integer width a type stands for, or None when it is no integer."""
    if hint is int:
        return INT
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Bits)), None)


def quoted(value: object, most: int = 60) -> str:
    """`value` as it may stand in an error: a peer chose it, so its length is bounded."""
    text = repr(value if not isinstance(value, str) else value[: most + 1])
    return text if len(text) <= most else text[:most] + "..."
