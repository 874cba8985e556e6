"""One broker per store directory: the first byte of the `lock` file is locked for as long as the store is open.

RocketMQ locks the same byte with the same kind of lock, so the two brokers keep each other out. The kernel drops
the lock with the process, however it ends.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sprocketmq.errors import StoreLocked

_held: set[tuple[int, int] | None] = set()  # fcntl locks do not exclude their own process, so it keeps count itself


class StoreLock:
    """Held from construction until `release`; StoreLocked when another broker holds it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        refusal = f"{path.parent} belongs to a running broker: its lock file is held"
        if _identity(path) in _held:  # before opening: closing any descriptor of a file drops the process's lock on it
            raise StoreLocked(refusal)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError:
            os.close(self._descriptor)
            raise StoreLocked(refusal) from None
        self._held = _identity(path)
        _held.add(self._held)
        os.pwrite(self._descriptor, b"lock", 0)

    def release(self) -> None:
        if self._descriptor >= 0:
            _held.discard(self._held)
            os.close(self._descriptor)
            self._descriptor = -1


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino
