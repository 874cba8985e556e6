"""Java's `.properties` text, read and written.

    line       := key separator value      separator is `=`, `:` or blanks
    comment    := a line that begins with `#` or `!`
    a backslash at the end of a line joins the next one; \\t \\n \\r \\f \\uXXXX are escapes, any other escaped
    character stands for itself

RocketMQ keeps `broker.conf` and `namesrv.conf` in it, and sends configurations in it. The text is UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sprocketmq.errors import ConfigError

_ENTRY = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ODD_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\)*\\$")


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values; the last of several values wins, blanks around a value are dropped."""
    entries: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _ENTRY.match(line)
        assert match is not None
        entries[_unescape(match[1])] = _unescape(match[2]).strip()
    entries.pop("", None)
    return entries


def format_properties(entries: Mapping[str, str]) -> str:
    """One `key=value` line for each entry, in order of the keys."""
    return "".join(f"{_escape(key, '=: ')}={_escape(entries[key], '')}\n" for key in sorted(entries))


def _logical_lines(text: str) -> Iterator[str]:
    joined = ""
    for line in re.split(r"\r\n|\r|\n", text):
        line = line.lstrip(" \t\f")
        if not joined and (not line or line[0] in "#!"):
            continue
        if _ODD_BACKSLASHES.search(line):
            joined += line[:-1]
        else:
            yield joined + line
            joined = ""
    if joined:
        yield joined


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    if re.search(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})", text):
        raise ConfigError(f"not a \\uXXXX escape in {text[:60]!r}")
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _NAMED.get(m[2] or "", m[2] or ""), text)


def _escape(text: str, special: str) -> str:
    for character, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\f", "\\f")):
        text = text.replace(character, escaped)
    for character in special:
        text = text.replace(character, "\\" + character)
    return "\\" + text if text[:1] in ("#", "!", " ") else text
