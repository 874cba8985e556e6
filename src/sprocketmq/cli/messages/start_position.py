"""Where reading begins: `--from first|last|-10|OFFSET|TIME`.

first, last     an end of the queues
-N              the last N messages
OFFSET          a whole number: that offset of each queue
TIME            2026-11-15T19:27:02, 15m (ago), or milliseconds since 1970 (a number of twelve digits or more)
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import click

from sprocketmq.cli.output.times import parse_time

_OPTION = "--from"
#: Numbers from here on are milliseconds: no queue is so long, and no message is from 1973.
_MILLISECONDS_FROM = 100_000_000_000


@dataclass(frozen=True, slots=True)
class LastMessages:
    count: int


Start = Literal["first", "last"] | LastMessages | datetime | int


def parse_start(text: str) -> Start:
    if text == "first":
        return "first"
    if text == "last":
        return "last"
    if re.fullmatch(r"-\d+", text):
        return LastMessages(min(int(text[1:]), sys.maxsize))
    if text.isdecimal() and int(text) < _MILLISECONDS_FROM:
        return int(text)
    try:
        return parse_time(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not first, last, -N, an offset or a time", param_hint=_OPTION) from None


def group_start(text: str) -> Literal["first", "last"] | datetime:
    """For a group that has consumed nothing yet. It begins at one time or end for all queues."""
    start = parse_start(text)
    if isinstance(start, (int, LastMessages)):
        said = f"{text} is for reading without a group; with one: first, last or a time"
        raise click.BadParameter(said, param_hint=_OPTION)
    return start
