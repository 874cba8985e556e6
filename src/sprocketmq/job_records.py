"""Records of jobs that have run: what ran, on what, how it ended. Who runs a job writes one; the console shows them.

One file of JSON per run, `20260131T080000-archive-1a2b3c.json`, in the state directory of the user or in SPROCKET_RUNS:

    kind, target, source, started (ms), seconds, ok, error
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from sprocketmq.atomic_file import replace_file
from sprocketmq.logs import Events

events = Events("sprocketmq.job_records")

ENVIRONMENT = "SPROCKET_RUNS"
_KEPT = 100
_LONGEST = 1024 * 1024


@dataclass
class Run:
    kind: str
    target: str
    source: str
    started: int
    seconds: float = 0.0
    ok: bool = False
    error: str | None = None
    name: str = ""

    @property
    def report(self) -> Path | None:
        """The page that the run has made, when it is still there."""
        page = Path(self.target) / "index.html"
        return page if self.kind == "report" and page.is_file() else None


def folder() -> Path:
    if given := os.environ.get(ENVIRONMENT):
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "sprocketmq" / "runs"


@contextmanager
def recorded(kind: str, target: str, source: str) -> Iterator[Run]:
    """Write down what happens inside. A record that cannot be written is a warning: the job counts, not its record."""
    run = Run(kind, target, source, time.time_ns() // 1_000_000)
    try:
        yield run
        run.ok = True
    except BaseException as error:
        run.error = str(error) or type(error).__name__
        raise
    finally:
        run.seconds = round(time.time() - run.started / 1000, 3)
        _write(run)


def _write(run: Run) -> None:
    when = datetime.fromtimestamp(run.started / 1000, UTC).strftime("%Y%m%dT%H%M%S")
    path = folder() / f"{when}-{run.kind}-{secrets.token_hex(3)}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, orjson.dumps(asdict(run), default=str))
        for old in sorted(path.parent.glob("*.json"))[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        events.warning("run not recorded", path=path, reason=error)


def last(where: Path | None = None) -> list[Run]:
    """The newest first; files that are no records are passed over."""
    found = []
    for path in sorted((where or folder()).glob("*.json"), reverse=True)[:_KEPT]:
        with contextlib.suppress(OSError, ValueError, TypeError):
            if path.stat().st_size <= _LONGEST:
                found.append(Run(**{**orjson.loads(path.read_bytes()), "name": path.stem}))
    return found
