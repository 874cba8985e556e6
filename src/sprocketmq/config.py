"""Configurations: a dataclass of `setting` fields is the table of its keys, and one reader serves all of them.

A setting has RocketMQ's key name, a type (int, float, bool, str, Path or an Enum by name), a default, bounds, a
sentence for the operator, and says whether it may be changed while the process runs. None of those that may be changed
names a path, a command or an address.

Values come from a Java-style properties file and from `key=value` options; an option wins over the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from sprocketmq.errors import ConfigError
from sprocketmq.properties_file import parse_properties

C = TypeVar("C")

_tables: dict[type, dict[str, Setting]] = {}


def setting(
    key: str, default: Any, doc: str, *, low: float | None = None, high: float | None = None, runtime: bool = False
) -> Any:
    """A field whose name in a configuration is `key`."""
    return field(default=default, metadata={"key": key, "doc": doc, "low": low, "high": high, "runtime": runtime})


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of a configuration's table."""

    key: str
    attribute: str
    kind: type
    default: Any
    doc: str
    low: float | None
    high: float | None
    runtime: bool

    def parse(self, text: str) -> Any:
        """The value that `text` stands for; ConfigError names the key and the text."""
        try:
            value = _PARSERS[self.kind](text) if self.kind in _PARSERS else _parse_choice(self.kind, text)
        except (ValueError, KeyError):
            raise ConfigError(f"{self.key}={text!r}: expected {self._expected()}") from None
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise ConfigError(f"{self.key}={text!r}: expected {self._expected()}")
        return value

    def _expected(self) -> str:
        if issubclass(self.kind, Enum):
            return "one of " + ", ".join(self.kind.__members__)
        bounds = [f"at least {self.low:g}"] if self.low is not None else []
        bounds += [f"at most {self.high:g}"] if self.high is not None else []
        return " ".join([_NAMES[self.kind], " and ".join(bounds)]).strip()


def settings_of(cls: type) -> Mapping[str, Setting]:
    """The table of `cls`, by key; worked out once."""
    if (table := _tables.get(cls)) is None:
        hints = get_type_hints(cls)
        table = _tables[cls] = {f.metadata["key"]: _row(f, hints[f.name]) for f in fields(cls) if "key" in f.metadata}
    return table


def _row(f: Field[Any], kind: type) -> Setting:
    about = f.metadata
    bounds = about.get("low"), about.get("high")
    return Setting(about["key"], f.name, kind, f.default, about.get("doc", ""), *bounds, about.get("runtime", False))


def from_properties(cls: type[C], entries: Mapping[str, str]) -> C:
    """The configuration of class `cls` in `entries`; keys that are not its own are left to others."""
    table = settings_of(cls)
    return cls(**{table[key].attribute: table[key].parse(text) for key, text in entries.items() if key in table})


def to_properties(*configs: object) -> dict[str, str]:
    """Every key of `configs` and its value as text, as `getBrokerConfig` shows them."""
    return {
        key: _text(getattr(config, row.attribute))
        for config in configs
        for key, row in settings_of(type(config)).items()
    }


def shown(key: str, text: str) -> str:
    """A value as it may be shown or logged: the value of a key that holds a secret is not."""
    return "***" if text and _SECRET.search(key) else text


def unknown_keys(entries: Mapping[str, str], *classes: type) -> list[str]:
    known = {key for cls in classes for key in settings_of(cls)}
    return sorted(key for key in entries if key not in known)


def changed(config: C, entries: Mapping[str, str]) -> C:
    """`config` with `entries` applied while the process runs: all of them, or ConfigError and none."""
    table = settings_of(type(config))
    for key in entries:
        if key not in table:
            raise ConfigError(f"{key}: no such key")
        if not table[key].runtime:
            raise ConfigError(f"{key} cannot be changed while the process runs")
    return replace(config, **{table[key].attribute: table[key].parse(text) for key, text in entries.items()})  # type: ignore[type-var]


def read_entries(path: Path | None, options: Iterable[str] = ()) -> dict[str, str]:
    """The entries of a file, overlaid with `key=value` options."""
    entries = {} if path is None else _read_file(path)
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{option!r}: expected KEY=VALUE")
        entries[key.strip()] = value.strip()
    return entries


def _read_file(path: Path) -> dict[str, str]:
    try:
        return parse_properties(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text") from None


def parse_integer(text: str) -> int:
    """A number as RocketMQ reads one: ASCII digits, within 64 bits; ValueError for anything else."""
    if not _INTEGER.fullmatch(text) or not -(1 << 63) <= int(text) < 1 << 63:
        raise ValueError(text)
    return int(text)


def _parse_bool(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _parse_choice(kind: type[Enum], text: str) -> Any:
    """A member by its name, in small or capital letters: RocketMQ has settings of both."""
    return {name.lower(): member for name, member in kind.__members__.items()}[text.lower()]


def _parse_path(text: str) -> Path:
    return Path(text).expanduser()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.name if isinstance(value, Enum) else str(value)


#: `initAuthenticationUser` holds a name and a password.
_SECRET = re.compile(r"(?i)password|secret|token|credential|accesskey|passphrase|authenticationuser")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_PARSERS: dict[type, Any] = {int: parse_integer, float: float, bool: _parse_bool, str: str, Path: _parse_path}
_NAMES = {int: "an integer", float: "a number", bool: "true or false", str: "a text", Path: "a path"}
