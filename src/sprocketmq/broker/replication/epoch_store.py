"""The epochs of this broker's log, in `epochFileCheckpoint` as RocketMQ 5.3.3 has it.

The file is written whole on every change, and synced: what follows a change, say bytes of the new epoch, rests on it.
The text before is kept as `.bak`. An empty list is not written; then, and after a crash, the file may know of epochs
that begin behind the end of the log, which nobody ever saw: they are dropped when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sprocketmq.atomic_file import replace_file
from sprocketmq.errors import BodyError
from sprocketmq.logs import Events
from sprocketmq.protocol.ha.epoch_file import decode_epoch_file, encode_epoch_file
from sprocketmq.protocol.ha.epochs import Epoch, EpochList
from sprocketmq.store.files.files import Files

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

    def add(self, epoch: Epoch) -> None:
        """Begin an epoch, durably: one that cannot be kept has not begun, and begins with the next try."""
        self._begin(lambda epochs: epochs.add(epoch))

    def lead(self, number: int, log_end: int) -> None:
        """This broker is the master of an epoch that begins where its log ends."""
        self._begin(lambda epochs: epochs.drop_from(number) | epochs.add(Epoch(number, log_end)))

    def _begin(self, change: Callable[[EpochList], bool]) -> None:
        epochs = EpochList(self.list.all)
        if change(epochs):
            self._save(epochs)
            self.list = epochs

    def cut(self, log_end: int) -> None:
        """The log was cut, and epochs that are not the master's go with it."""
        if self.list.cut(log_end) or self._unsaved:
            self._save(self.list)

    def expire(self, log_start: int) -> None:
        if self.list.expire(log_start) or self._unsaved:
            self._save(self.list)

    def _save(self, epochs: EpochList) -> None:
        self._unsaved = True
        if len(epochs):
            backup = self._backup if self._files.exists(self._path) else None
            replace_file(self._path, encode_epoch_file(epochs).encode(), self._files, backup=backup)
        self._unsaved = False
