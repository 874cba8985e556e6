"""Replaces a small file so that a crash leaves the old content or the new one, never a mixture.

This is the only place that does it; `files` are those of the store where a test must be able to lose power.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class FileSystem(Protocol):
    def exists(self, path: Path) -> bool: ...

    def make_dirs(self, path: Path) -> None: ...

    def read_bytes(self, path: Path) -> bytes: ...

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None: ...

    def rename(self, source: Path, target: Path) -> None: ...

    def sync_dir(self, path: Path) -> None: ...


class LocalFiles:
    """A `FileSystem` on any system; what it creates has `mode`."""

    def __init__(self, mode: int = 0o644) -> None:
        self._mode = mode

    def exists(self, path: Path) -> bool:
        return path.exists()

    def make_dirs(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def read_bytes(self, path: Path) -> bytes:
        return path.read_bytes()

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), self._mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def sync_dir(self, path: Path) -> None:
        if os.name == "nt":  # there a folder cannot be opened, and a rename is kept with its file
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


LOCAL = LocalFiles()


def replace_file(path: Path, data: bytes, files: FileSystem = LOCAL, *, backup: Path | None = None) -> None:
    """Write beside, sync, rename, and sync the folder that holds the name. The old file stays as `backup`, if told."""
    beside = path.with_name(f"{path.name}.tmp")
    if not files.exists(path.parent):
        files.make_dirs(path.parent)
        files.sync_dir(path.parent.parent)
    files.write_bytes(beside, data, sync=True)
    if backup is not None:
        files.rename(path, backup)
    files.rename(beside, path)
    files.sync_dir(path.parent)
