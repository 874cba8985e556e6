"""Times on the command line: milliseconds since 1970, or a date and time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click


class Moment(click.ParamType[int]):
    """Milliseconds since 1970, or a date and time such as 2026-11-15T19:27:02; the local zone unless it names one."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(value) if value.isdecimal() else int(datetime.fromisoformat(value).timestamp() * 1000)
        except ValueError:
            self.fail(f"{value!r} is neither milliseconds nor a date and time", param, ctx)
