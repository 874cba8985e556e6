"""The file of profiles, `~/.config/sprocketmq/config.toml` (or under XDG_CONFIG_HOME; SPROCKET_CONFIG names another).

    current = "staging"                     # used when nobody says --profile

    [profiles.staging]
    nameserver = "10.0.0.1:9876;10.0.0.2:9876"
    access_key = "ops"
    secret_key_file = "~/.secrets/staging"
    tls = true

A profile's keys are the options of every command that talks to a cluster, with `_` for `-`. What the command line or
the environment says wins. The file is readable by its owner alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sprocketmq.atomic_file import LocalFiles, replace_file
from sprocketmq.cli.nearest import did_you_mean
from sprocketmq.errors import ConfigError

#: Keys of a profile and their types.
KEYS: Mapping[str, type] = {
    "nameserver": str, "namespace": str, "access_key": str, "secret_key": str, "secret_key_file": str, "token": str,
    "token_file": str, "tls": bool, "tls_ca": str, "tls_cert": str, "tls_key": str,
    "tls_key_password_file": str, "tls_verify": bool, "tls_check_hostname": bool,
}  # fmt: skip
_TOP: Mapping[str, type] = {"current": str, "profiles": dict}
SECRETS = frozenset({"secret_key", "token"})

_NAME = re.compile(r"[A-Za-z0-9_-]+")

Profile = dict[str, str | bool]


@dataclass(slots=True)
class Profiles:
    current: str | None = None
    named: dict[str, Profile] = field(default_factory=dict)

    def get(self, name: str) -> Profile:
        if name not in self.named:
            meant = did_you_mean(name, self.named)
            raise ConfigError(f"no profile {name}{meant or '.'} `sprocket profile list` shows all")
        return self.named[name]


def path() -> Path:
    if named := os.environ.get("SPROCKET_CONFIG"):
        return Path(named).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "sprocketmq" / "config.toml"


def load() -> Profiles:
    """None yet when there is no file."""
    try:
        data = path().read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Profiles()
    except OSError as error:
        raise ConfigError(f"{path()}: {error.strerror}") from None
    import tomllib

    try:
        return _checked(tomllib.loads(data.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path()}: {error}") from None


def save(profiles: Profiles) -> None:
    replace_file(path(), _text(profiles).encode(), LocalFiles(0o600))


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for a profile: letters, digits, - and _")
    return name


def parse(key: str, text: str) -> str | bool:
    """The value of a profile's key, as the command line gives it."""
    kind = _kind(key)
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"{key}={text!r}: expected true or false")
        return text.lower() == "true"
    return text


def _kind(key: str) -> type:
    if key not in KEYS:
        raise ConfigError(f"a profile has no key {key}{did_you_mean(key, KEYS) or '; it has ' + ', '.join(KEYS)}")
    return KEYS[key]


def _checked(data: Mapping[str, Any]) -> Profiles:
    for key, value in data.items():
        if key not in _TOP:
            raise ConfigError(
                f"{path()}: there is no key {key}{did_you_mean(key, _TOP) or '; it has ' + ', '.join(_TOP)}"
            )
        _check_kind(key, value, _TOP[key])
    profiles = Profiles(data.get("current"))
    for name, entries in data.get("profiles", {}).items():
        _check_kind(f"profiles.{name}", entries, dict)
        for key, value in entries.items():
            _check_kind(f"{key} of profile {name}", value, _kind(key))
        profiles.named[name] = dict(entries)
    return profiles


def _check_kind(what: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise ConfigError(f"{path()}: {what} is not a {'table' if kind is dict else kind.__name__}")


def _text(profiles: Profiles) -> str:
    lines = [] if profiles.current is None else [f"current = {_value(profiles.current)}", ""]
    for name, entries in sorted(profiles.named.items()):
        lines += [f"[profiles.{name}]", *(f"{key} = {_value(value)}" for key, value in entries.items()), ""]
    return "\n".join(lines)


def _value(value: str | bool) -> str:
    """TOML's basic strings are JSON's."""
    import json

    return json.dumps(value, ensure_ascii=False)
