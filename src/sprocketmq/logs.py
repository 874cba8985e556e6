"""Logging: one line for each event that an operator needs, in logfmt, through the standard library.

    time=2026-01-31T08:00:00.123Z level=info from=nameserver event="broker registered" broker=broker-a

or, for programs that collect lines, as one JSON object a line with the same fields. Fields are given by name, so that
lines can be searched by them. Message bodies are never logged, and of what a peer causes no more than a few lines a
second. An exception is one
line too: its type, its text and the lines it came through are fields.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
import traceback
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BARE = re.compile(r"[^\s\"=\\\x00-\x1f]+")
_PACKAGE = "sprocketmq"
#: Tells of tasks and callbacks that failed and that nobody asked.
_LOOP = "asyncio"

#: Lines of one kind that one address causes in a second, and characters of a value that comes from a peer.
PEER_LINES = 10
PEER_TEXT = 200
_LONGEST_TEXT = 2000
#: Kinds and addresses that are told apart; when there are more, all begin anew.
_MAX_KINDS = 10_000


class Events:
    """One log: `events.info("broker registered", broker=name, peer=connection.peer)`.

    Its name is spelled out (`sprocketmq.broker.send`), for operators search by it: it stays when a module moves.
    """

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **fields: object) -> None:
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, error: BaseException | None = None, **fields: object) -> None:
        self._log(logging.ERROR, event, fields, error)

    def _log(self, level: int, event: str, fields: dict[str, object], error: BaseException | None = None) -> None:
        if self._logger.isEnabledFor(level) and _peers.takes(event, fields):
            self._logger.log(level, event, exc_info=error, extra={"fields": fields})


class _PeerLines:
    """No peer writes the log full: so many lines a second of one kind, the next line says how many were left out."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], list[int]] = {}

    def takes(self, event: str, fields: dict[str, object]) -> bool:
        peer = fields.get("peer")
        if peer is None:
            return True
        second = int(time.monotonic())
        key = (event, getattr(peer, "host", str(peer)))
        if key not in self._seen and len(self._seen) >= _MAX_KINDS:
            self._seen.clear()
        seen = self._seen.setdefault(key, [second, 0])
        if seen[0] != second:
            if seen[1] > PEER_LINES:
                fields["left_out"] = seen[1] - PEER_LINES
            seen[:] = second, 0
        seen[1] += 1
        return seen[1] <= PEER_LINES


_peers = _PeerLines()


class LogfmtFormatter(logging.Formatter):
    """`process` names the one that speaks, where several write to one place."""

    def __init__(self, process: str = "") -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{key}={quoted(value)}" for key, value in _fields(record, self._process).items())


class JsonFormatter(LogfmtFormatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record, self._process)
        return json.dumps(fields, default=str)  # ASCII alone: whatever a peer sent stays on its line


def _fields(record: logging.LogRecord, process: str) -> dict[str, object]:
    fields: dict[str, object] = {
        "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
        "level": record.levelname.lower(),
        "from": record.name.removeprefix(f"{_PACKAGE}."),
        **({"process": process} if process else {}),
        "event": record.getMessage(),
        **getattr(record, "fields", {}),
    }
    if record.exc_info and record.exc_info[1] is not None:
        fields.update(_describe(record.exc_info))
    longest = PEER_TEXT if "peer" in fields else _LONGEST_TEXT
    return {key: _cut(value, longest) for key, value in fields.items()}


def _cut(value: object, longest: int) -> object:
    """A value as it is, unless it is too long a text for a line."""
    text = value if isinstance(value, str) else "" if isinstance(value, int | float) else str(value)
    return value if len(text) <= longest else f"{text[:longest]}..."


def quoted(value: object) -> str:
    """`value` as a logfmt value: bare when it can be, else in quotes, on one line whatever a peer put into it."""
    text = str(value)
    if _BARE.fullmatch(text) and text.isprintable():
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in escaped) + '"'


def _describe(info: tuple[type[BaseException], BaseException, TracebackType | None]) -> dict[str, object]:
    kind, error, stack = info
    frames = " < ".join(f"{os.path.basename(f.filename)}:{f.lineno}" for f in reversed(traceback.extract_tb(stack)))
    return {"error": kind.__name__, "reason": error, "at": frames}


#: Lines of errors since the process began, by the name of the log without the package's.
error_lines: Counter[str] = Counter()


class _ErrorCounter(logging.Handler):
    """What a server logs as an error is a fault of its own, a failed background job among them: it is counted."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        error_lines[record.name.removeprefix(f"{_PACKAGE}.")] += 1


def configure(
    path: Path | None = None, level: str = "info", *, max_bytes: int = 64 * 1024 * 1024, backups: int = 10,
    as_json: bool = False, process: str = "",
) -> None:  # fmt: skip
    """Send the package's events, and what the loop has to tell, to `path`, rotated by size, or to stderr."""
    handler: logging.Handler
    if path is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        from logging.handlers import RotatingFileHandler  # with pickle and sockets in it: not for every client

        handler = RotatingFileHandler(path, maxBytes=max_bytes, backupCount=backups, encoding="utf-8")
    handler.setFormatter((JsonFormatter if as_json else LogfmtFormatter)(process))
    counter = _ErrorCounter()
    for logger in (logging.getLogger(_LOOP), logging.getLogger(_PACKAGE)):
        for old in tuple(logger.handlers):
            logger.removeHandler(old)
            old.close()
        logger.addHandler(handler)
        logger.addHandler(counter)
    logger.setLevel(level.upper())
    logger.propagate = False


def set_level(level: str) -> None:
    """Log from `level` on; takes effect at once."""
    logging.getLogger(_PACKAGE).setLevel(level.upper())
