"""The tolerant reader behind `java_json.loads`: JSON whose object keys may also be integers or objects.

value   := object | array | string | number | "true" | "false" | "null"
object  := "{" [ key ":" value { "," key ":" value } ] "}"
key     := string | integer | object
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Any, NoReturn

from sprocketmq.errors import BodyError
from sprocketmq.protocol.fields import quoted

MAX_DEPTH = 64

_BLANK = re.compile(r"[ \t\r\n]*")
_MEMBER = re.compile(  # the start of nearly every member, in one step: a key without escapes, and the colon
    r"""[ \t\r\n]*(?:"([^"\\\x00-\x1f]*)"|(-?(?:0|[1-9][0-9]{0,18})))[ \t\r\n]*:[ \t\r\n]*"""
)
_SHORT_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]{0,17})(?=[,}\]])")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile("|".join(_WORDS))
_MAX_DIGITS = 20  # of an integer that may still be a long
_scan_string = JSONDecoder().raw_decode


class ObjectKey(tuple[tuple[str, Any], ...]):
    """An object that stands as a key in a map: its members in order, `dict(key)` gives them back."""

    __slots__ = ()


def read(data: bytes | str) -> Any:
    """The value in `data`, or BodyError."""
    try:
        text = str(data.encode() if isinstance(data, str) else data, "utf-8")
    except UnicodeError:
        raise BodyError("JSON that is not UTF-8") from None
    return _Reader(text).whole()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def whole(self) -> Any:
        value = self._value()
        if self._peek():
            self._fail("the end")
        return value

    def _value(self) -> Any:
        if found := _SHORT_INTEGER.match(self._text, self._at):
            self._at = found.end()
            return int(found[0])
        match self._peek():
            case "{":
                return self._nested(self._object)
            case "[":
                return self._nested(self._array)
            case '"':
                return self._string()
            case _:
                return self._word_or_number()

    def _nested(self, read_inside: Callable[[], Any]) -> Any:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BodyError(f"JSON nested deeper than {MAX_DEPTH}")
        self._at += 1
        value = read_inside()
        self._depth -= 1
        return value

    def _object(self) -> dict[Any, Any]:
        members: dict[Any, Any] = {}
        if self._skip("}"):
            return members
        while True:
            key = self._key()
            members[key] = self._value()
            if self._skip("}"):
                return members
            if not self._skip(","):
                self._fail("',' or '}'")

    def _array(self) -> list[Any]:
        items: list[Any] = []
        if self._skip("]"):
            return items
        while True:
            items.append(self._value())
            if self._skip("]"):
                return items
            if not self._skip(","):
                self._fail("',' or ']'")

    def _key(self) -> str | int | ObjectKey:
        """A member's key, with the colon behind it."""
        if found := _MEMBER.match(self._text, self._at):
            self._at = found.end()
            return int(found[2]) if found[1] is None else found[1]
        first = self._peek()
        if first not in ('"', "{"):
            self._fail("a key")
        key = self._string() if first == '"' else self._object_key()
        if not self._skip(":"):
            self._fail("':'")
        return key

    def _object_key(self) -> ObjectKey:
        at, members = self._at, self._nested(self._object)
        if any(isinstance(part, (dict, list)) for part in members.values()):
            raise BodyError(f"JSON at {at}: an object with nested values as a key")
        return ObjectKey(members.items())

    def _string(self) -> str:
        at = self._at
        try:
            value, self._at = _scan_string(self._text, at)
            value.encode()  # refuses an escaped lone surrogate
        except ValueError:
            raise BodyError(f"JSON at {at}: a string that does not end or holds bad characters") from None
        return str(value)

    def _word_or_number(self) -> Any:
        if found := _WORD.match(self._text, self._at):
            self._at = found.end()
            return _WORDS[found[0]]
        found = _NUMBER.match(self._text, self._at)
        if found is None or (not found[2] and not found[3] and len(found[1]) > _MAX_DIGITS):
            self._fail("a value")
        self._at = found.end()
        return float(found[0]) if found[2] or found[3] else int(found[1])

    def _peek(self) -> str:
        """The next character that is not blank, or "" at the end."""
        found = _BLANK.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return self._text[self._at : self._at + 1]

    def _skip(self, mark: str) -> bool:
        if self._peek() != mark:
            return False
        self._at += 1
        return True

    def _fail(self, wanted: str) -> NoReturn:
        found = self._text[self._at : self._at + 20]
        raise BodyError(f"JSON at {self._at}: {wanted} expected, not {quoted(found) if found else 'the end'}")
