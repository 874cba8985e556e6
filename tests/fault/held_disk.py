"""Disks that answer no sync until they are told to, and that note who would have waited for one on the loop."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from sprocketmq.store.files.disk import Disk, DiskFile


class HeldDisk(Disk):
    """No sync below a folder returns while it is held; one that the loop itself waits for is noted and let through."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.loop_thread = threading.get_ident()
        self.synced_by_loop: list[Path] = []
        self.waiting = threading.Event()
        self.going = threading.Event()
        self.going.set()

    def wait(self, path: Path) -> None:
        if threading.get_ident() == self.loop_thread:
            self.synced_by_loop.append(path)
            return
        if not path.is_relative_to(self._folder):
            return
        if not self.going.is_set():
            self.waiting.set()
        self.going.wait()

    def create(self, path: Path, size: int) -> DiskFile:
        return self._held(super().create(path, size))

    def open(self, path: Path, *, writable: bool = True) -> DiskFile:
        return self._held(super().open(path, writable=writable))

    def sync_dir(self, path: Path) -> None:
        self.wait(path)
        super().sync_dir(path)

    def sync_all(self, path: Path) -> None:
        self.wait(path)
        super().sync_all(path)

    def _held(self, file: DiskFile) -> DiskFile:
        sync = file.sync

        def wait_and_sync() -> None:
            self.wait(file.path)
            sync()

        file.sync = wait_and_sync  # type: ignore[method-assign]
        return file


class HeldSyncs:
    """The same for the small files of every server, which are in no store; held from the beginning."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_loop = 0
        self.waiting = threading.Event()
        self.going = threading.Event()
        loop_thread, sync = threading.get_ident(), os.fsync

        def wait_and_sync(descriptor: int) -> None:
            if threading.get_ident() == loop_thread:
                self.by_loop += 1
            else:
                self.waiting.set()
                self.going.wait()
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", wait_and_sync)
