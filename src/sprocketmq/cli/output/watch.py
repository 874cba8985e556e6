"""`--watch [SECONDS]`: the same again and again, drawn over itself on a terminal, one below the other in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import click

from sprocketmq.cli.arguments import Finite

C = TypeVar("C", bound=Callable[..., object])

EVERY = 2.0
_HOME_AND_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def watch_option(command: C) -> C:
    return click.option(
        "--watch", type=Finite(0.2), is_flag=False, flag_value=EVERY, metavar="[SECONDS]",
        help=f"Refresh until ^C, every {EVERY:g} seconds by default.",
    )(command)  # fmt: skip


def watched(draw: Callable[[], object], every: float | None, rest: Callable[[float], object] = time.sleep) -> None:
    """Draw once, or with `every` without end."""
    if every is None:
        draw()
        return
    while True:
        if sys.stdout.isatty():
            click.echo(f"{_HOME_AND_CLEAR}every {every:g} s   {datetime.now():%Y-%m-%d %H:%M:%S}\n", color=True)
        draw()
        rest(every)
