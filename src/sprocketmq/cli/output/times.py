"""Times on the command line: milliseconds since 1970, a date and time, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

_AGO = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_time(text: str) -> datetime:
    """ValueError when it is none of them, or no clock shows it. The local zone, unless the text names one."""
    try:
        if text.isdecimal():
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        if (ago := _AGO.fullmatch(text)) is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return datetime.fromisoformat(text).astimezone(UTC)
    except (OverflowError, OSError):
        raise ValueError(f"no clock shows {text!r}") from None


class Moment(click.ParamType[int]):
    """Milliseconds since 1970; a date and time such as 2026-11-15T19:27:02; or 90s, 15m, 2h, 3d ago."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(value) if value.isdecimal() else int(parse_time(value).timestamp() * 1000)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is neither milliseconds nor a date and time", param, ctx)
