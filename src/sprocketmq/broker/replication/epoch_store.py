"""The epochs of this broker's log, in `epochFileCheckpoint` as RocketMQ 5.3.3 has it.

The file is written whole on every change, and synced: what follows a change, say bytes of the new epoch, rests on it.
It is written on a thread: who changes the epochs waits, the loop does not. The text before is kept as `.bak`.

An empty list is not written; then, and after a crash, the file may know of epochs that begin behind the end of the log,
which nobody ever saw: they are dropped when it is read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sprocketmq.atomic_file import replace_file
from sprocketmq.errors import BodyError
from sprocketmq.logs import Events
from sprocketmq.protocol.ha.epoch_file import decode_epoch_file, encode_epoch_file
from sprocketmq.protocol.ha.epochs import Epoch, EpochList
from sprocketmq.store.files.files import Files
from sprocketmq.store.store import DISK_SECONDS

events = Events("sprocketmq.broker.replication")

FILE_NAME = "epochFileCheckpoint"


class EpochStore:
    def __init__(self, files: Files, path: Path) -> None:
        self.list = EpochList()
        self._files = files
        self._path = path
        self._backup = path.with_name(f"{path.name}.bak")
        #: The list is another one than the file's: a cut that could not be kept is kept by the next call.
        self._unsaved = False
        self._turn = asyncio.Lock()
        self._saving_since: float | None = None
        #: One, so that the file is written in order also where somebody has ceased to wait.
        self._saver = ThreadPoolExecutor(1, "save-epochs")

    def load(self, log_end: int) -> None:
        self.list = next((found for found in map(self._read, (self._path, self._backup)) if found), EpochList())
        self.list.cut(log_end + 1)

    def _read(self, path: Path) -> EpochList | None:
        if not self._files.exists(path):
            return None
        try:
            return decode_epoch_file(self._files.read_bytes(path).decode("utf-8", "replace"))
        except BodyError as error:
            events.error("epoch file not readable", error, path=path)
            return None

    async def add(self, epoch: Epoch) -> None:
        """Begin an epoch, durably: one that cannot be kept has not begun, and begins with the next try."""
        await self._begin(lambda epochs: epochs.add(epoch))

    async def lead(self, number: int, log_begin: int, log_end: int) -> None:
        """This broker is the master of an epoch that begins where its log ends; those before the log are forgotten."""
        await self._begin(
            lambda epochs: epochs.expire(log_begin) | epochs.drop_from(number) | epochs.add(Epoch(number, log_end))
        )

    async def _begin(self, change: Callable[[EpochList], bool]) -> None:
        async with self._turn:
            epochs = EpochList(self.list.all)
            if change(epochs):
                await self._saved(epochs)
                self.list = epochs

    async def cut(self, log_end: int) -> None:
        """The log was cut, and epochs that are not the master's go with it, whether or not the file can be written."""
        async with self._turn:
            if self.list.cut(log_end) or self._unsaved:
                await self._saved(self.list)

    def forget(self) -> None:
        """The log is empty."""
        self.list = EpochList()

    def hangs(self) -> bool:
        """Whether the disk has not answered for long."""
        return self._saving_since is not None and time.monotonic() - self._saving_since > DISK_SECONDS

    async def _saved(self, epochs: EpochList) -> None:
        self._unsaved = True
        if len(epochs):
            self._saving_since = time.monotonic()
            try:
                await asyncio.wrap_future(self._saver.submit(self._save, encode_epoch_file(epochs).encode()))
            finally:
                self._saving_since = None
        self._unsaved = False

    def _save(self, text: bytes) -> None:
        backup = self._backup if self._files.exists(self._path) else None
        replace_file(self._path, text, self._files, backup=backup)
