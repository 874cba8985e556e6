"""How far commands have come that may run longer than a second: a bar on a terminal, lines of JSON for programs.

Both are on stderr. A program gets `{"done": 1, "total": 2}`, a few lines a second at most, when it asked for them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

_EVERY_S = 0.25


@contextmanager
def byte_progress(title: str, begin: int, end: int, *, as_lines: bool = False) -> Iterator[Callable[[int], None]]:
    """Yields a function that is told how far the work has come, from `begin` to `end`."""
    if as_lines:
        yield _lines(begin, end)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _position: None
        return
    columns = (TextColumn(title), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=end - begin)
        yield lambda position: bar.update(task, completed=position - begin)


def _lines(begin: int, end: int) -> Callable[[int], None]:
    said = 0.0

    def tell(position: int) -> None:
        nonlocal said
        if time.monotonic() - said >= _EVERY_S:
            said = time.monotonic()
            print(json.dumps({"done": position - begin, "total": end - begin}), file=sys.stderr, flush=True)

    return tell
