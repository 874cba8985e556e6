"""Progress bars for commands that may run longer than a second: on a terminal only, and on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


@contextmanager
def byte_progress(title: str, begin: int, end: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that is told how far the work has come, from `begin` to `end`."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _position: None
        return
    columns = (TextColumn(title), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=end - begin)
        yield lambda position: bar.update(task, completed=position - begin)
