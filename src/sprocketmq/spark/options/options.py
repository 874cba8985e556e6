"""Options of a source or a sink: read by name, checked, and refused with one line that names the option."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sprocketmq.errors import ConfigError

_UNITS_MS = {
    "ms": 1, "s": 1000, "sec": 1000, "second": 1000, "seconds": 1000, "m": 60_000, "min": 60_000, "minute": 60_000,
    "minutes": 60_000, "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000, "d": 86_400_000, "day": 86_400_000,
    "days": 86_400_000,
}  # fmt: skip
#: What configures Kafka's own client, and what does the same here.
_KAFKA = "kafka."
_OURS = {
    "kafka.bootstrap.servers": "'nameserver', the address of a nameserver such as 127.0.0.1:9876",
    "kafka.group.id": "'group'",
    "kafka.security.protocol": "'tls'",
    "kafka.request.timeout.ms": "'requestTimeoutMs'",
    "kafka.max.poll.records": "'pullBatchSize'",
}
_DURATION = re.compile(r"\s*(\d+)\s*([a-z]*)\s*")


class OptionError(ConfigError):
    """An option that is missing, malformed, or in conflict with another."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"option {name!r} {reason}")
        self.name = name


class Options:
    """Names are the same in any case, as everywhere in Spark. An empty value counts as not given."""

    def __init__(self, given: Mapping[str, str], known: Iterable[str]) -> None:
        self._given = {name.lower(): (name, value) for name, value in given.items()}
        self._refuse_typos(known)

    def __contains__(self, name: str) -> bool:
        return self.text(name) is not None

    def text(self, name: str) -> str | None:
        _, value = self._given.get(name.lower(), ("", ""))
        return value.strip() or None if isinstance(value, str) else str(value)

    def required(self, name: str, why: str) -> str:
        value = self.text(name)
        if value is None:
            raise OptionError(name, f"is missing: {why}")
        return value

    def integer(self, name: str, default: int | None = None, *, least: int = 1) -> int | None:
        value = self.text(name)
        if value is None:
            return default
        try:
            number = int(value)
        except ValueError:
            raise OptionError(name, f"is a whole number, not {value!r}") from None
        if number < least:
            raise OptionError(name, f"is at least {least}, not {number}")
        return number

    def boolean(self, name: str, default: bool) -> bool:
        value = (self.text(name) or str(default)).lower()
        if value not in ("true", "false"):
            raise OptionError(name, f"is true or false, not {value!r}")
        return value == "true"

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = (self.text(name) or default).lower()
        if value not in choices:
            raise OptionError(name, f"is one of {', '.join(choices)}, not {value!r}")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """A list, separated by commas."""
        return tuple(part.strip() for part in (self.text(name) or "").split(",") if part.strip())

    def duration_ms(self, name: str, default: str) -> int:
        """`15m`, `30 seconds`; a bare number is milliseconds."""
        value = self.text(name) or default
        found = _DURATION.fullmatch(value.lower())
        if found is None or (unit := found[2] or "ms") not in _UNITS_MS:
            raise OptionError(name, f"is a duration such as 500ms, 30s or 15m, not {value!r}")
        return int(found[1]) * _UNITS_MS[unit]

    def timestamp_ms(self, name: str) -> int | None:
        """Milliseconds since 1970, or a date and time such as 2026-11-15T19:27:02+00:00."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return (
                int(value) if value.lstrip("-").isdecimal() else int(datetime.fromisoformat(value).timestamp() * 1000)
            )
        except ValueError:
            raise OptionError(name, f"is milliseconds or a date and time, not {value!r}") from None

    def json(self, name: str) -> Any:
        value = self.text(name)
        try:
            return None if value is None else json.loads(value)
        except json.JSONDecodeError as error:
            raise OptionError(name, f"is not JSON: {error}") from None

    def exactly_one(self, *names: str) -> str:
        """The one of `names` that is given."""
        given = [name for name in names if name in self]
        if len(given) != 1:
            reason = "exclude one another" if given else "are all missing"
            raise OptionError(" / ".join(given or names), f"{reason}: give exactly one of {', '.join(names)}")
        return given[0]

    def only_one_of(self, *names: str) -> None:
        given = [name for name in names if name in self]
        if len(given) > 1:
            raise OptionError(given[1], f"cannot be used together with {given[0]!r}")

    def refuse(self, names: Iterable[str], why: str) -> None:
        for name in names:
            if name in self:
                raise OptionError(name, why)

    def _refuse_typos(self, known: Iterable[str]) -> None:
        """Spark passes options of its own through, so a strange name is wrong only when it is almost one of ours."""
        ours = {name.lower(): name for name in known}
        for lower, (name, _) in self._given.items():
            if lower.startswith(_KAFKA):
                raise OptionError(name, f"is one of Kafka's: here it is {_OURS.get(lower, 'none of the options')}")
            if lower not in ours and (near := difflib.get_close_matches(lower, ours, 1, 0.87)):
                raise OptionError(name, f"is unknown: did you mean {ours[near[0]]!r}?")
