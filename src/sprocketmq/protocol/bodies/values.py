"""Readers of parsed JSON: each gives the typed value or raises Mismatch, which gathers the path on its way up."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from sprocketmq.protocol import java_json
from sprocketmq.protocol.fields import Bits, bits_of, quoted

Read = Callable[[Any], Any]

_DECIMAL = re.compile(r"[+-]?[0-9]{1,19}")


class Mismatch(Exception):
    """A value of the wrong type; `path` leads to it from the top of the body."""

    def __init__(self, wanted: str, value: object) -> None:
        self.wanted, self.value, self.path = wanted, value, ""

    def under(self, step: str) -> Mismatch:
        self.path = step + self.path
        return self

    def __str__(self) -> str:
        return f"{self.path.removeprefix('.') or 'the body'} must be {self.wanted}, not {quoted(self.value)}"


def read_str(value: Any) -> str:
    if type(value) is not str:
        raise Mismatch("a text", value)
    return value


def read_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise Mismatch("true or false", value)
    return value


def read_float(value: Any) -> float:
    if type(value) is not float and type(value) is not int:
        raise Mismatch("a number", value)
    return float(value)


def read_bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(read_str(value), validate=True)
    except binascii.Error:
        raise Mismatch("base64", value) from None


READERS: Mapping[Any, Read] = {str: read_str, bool: read_bool, float: read_float, bytes: read_bytes}


def integer_reader(bits: Bits) -> Read:
    low, high = bits.bounds
    wanted = f"an integer of {bits.count} bits"

    def read(value: Any) -> int:
        number = int(value) if type(value) is str and _DECIMAL.fullmatch(value) else value
        if type(number) is not int or not low <= number <= high:
            raise Mismatch(wanted, value)
        return number

    return read


def enum_reader(cls: type[Enum]) -> Read:
    """By name, or by place in the list, as the C++ client sends them."""
    members: dict[str | int, Enum] = dict(enumerate(cls))
    members.update(cls.__members__)

    def read(value: Any) -> Enum:
        member = members.get(value) if type(value) in (str, int) else None
        if member is None:
            raise Mismatch("one of " + ", ".join(cls.__members__), value)
        return member

    return read


def array_reader(read_item: Read, collect: Callable[[Iterable[Any]], Any]) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not list:
            raise Mismatch("an array", value)
        items: list[Any] = []
        try:
            for item in value:
                items.append(read_item(item))
        except Mismatch as wrong:
            raise wrong.under(f"[{len(items)}]") from None
        return collect(items)

    return read


def mapping_reader(read_key: Read, read_value: Read) -> Read:
    def read(value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
            raise Mismatch("an object", value)
        members = {}
        for key, member in value.items():
            try:
                members[read_key(key)] = read_value(member)
            except Mismatch as wrong:
                raise wrong.under(f"[{quoted(key)}]") from None
        return members

    return read


def key_reader(hint: Any) -> Read:
    """Reads the keys of a map: texts, or integers that came bare or quoted."""
    if (bits := bits_of(hint)) is not None:
        return integer_reader(bits)
    return lambda key: str(key) if type(key) is int else read_str(key)


def object_key(key: Any) -> dict[str, Any]:
    """The members of an object that stands as a key, bare or as JSON in a string."""
    found = java_json.loads(key) if type(key) is str else key
    if not isinstance(found, (dict, java_json.ObjectKey)):
        raise Mismatch("an object as a key", key)
    return dict(found)


def bean_reader(cls: Callable[..., Any], members: Iterable[tuple[str, str, Read]]) -> Read:
    """Reads an object into `cls`; `members` lists wire key, attribute and reader."""
    members = tuple(members)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise Mismatch("an object", value)
        present: dict[str, Any] = {}
        for key, name, read_member in members:
            member = value.get(key)
            if member is not None:
                try:
                    present[name] = read_member(member)
                except Mismatch as wrong:
                    raise wrong.under("." + key) from None
        return cls(**present)

    return read
