"""Logging: one line for each event that an operator needs, in logfmt, through the standard library.

    time=2026-01-31T08:00:00.123Z level=info from=nameserver event="broker registered" broker=broker-a

Fields are given by name, so that lines can be searched by them. Message bodies are never logged. An exception is one
line too: its type, its text and the lines it came through are fields.
"""

from __future__ import annotations

import logging
import logging.handlers
import re
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

_BARE = re.compile(r"[^\s\"=\\\x00-\x1f]+")
_PACKAGE = "sprocketmq"


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
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, exc_info=error, extra={"fields": fields})


class LogfmtFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "from": record.name.removeprefix(f"{_PACKAGE}."),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields.update(_describe(record.exc_info))
        return " ".join(f"{key}={quoted(value)}" for key, value in fields.items())


def quoted(value: object) -> str:
    """`value` as a logfmt value: bare when it can be, else in quotes, on one line whatever a peer put into it."""
    text = str(value)
    if _BARE.fullmatch(text) and text.isprintable():
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in escaped) + '"'


def _describe(info: tuple[type[BaseException], BaseException, TracebackType | None]) -> dict[str, object]:
    kind, error, stack = info
    frames = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(traceback.extract_tb(stack)))
    return {"error": kind.__name__, "reason": error, "at": frames}


def configure(
    path: Path | None = None, level: str = "info", *, max_bytes: int = 64 * 1024 * 1024, backups: int = 10
) -> None:
    """Send the package's events to `path`, rotated by size, or to stderr."""
    handler: logging.Handler
    if path is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(path, maxBytes=max_bytes, backupCount=backups, encoding="utf-8")
    handler.setFormatter(LogfmtFormatter())
    logger = logging.getLogger(_PACKAGE)
    for old in tuple(logger.handlers):
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False


def set_level(level: str) -> None:
    """Log from `level` on; takes effect at once."""
    logging.getLogger(_PACKAGE).setLevel(level.upper())
