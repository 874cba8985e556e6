"""Durable notes of which half messages a micro-batch consists of: one file per query and batch.

The note is written, and is on disk, before the first half message is made visible; whoever finds it makes visible what
is left of it. So the moment it appears decides the batch: before it nothing of the batch counts, after it all does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sprocketmq.atomic_file import replace_file
from sprocketmq.protocol.message_queue import MessageQueue

#: Notes of older batches than this are removed: Spark repeats the last batch only.
KEPT = 100


@dataclass(frozen=True)
class HalfMessage:
    """A half message: where it will go, and what a broker needs to find it."""

    queue: MessageQueue
    unique_key: str
    half_offset: int  # in the queue of half messages
    commit_offset: int
    transaction_id: str

    def row(self) -> list[Any]:
        queue = self.queue
        return [
            queue.topic, queue.broker_name, queue.queue_id, self.unique_key, self.half_offset, self.commit_offset,
            self.transaction_id,
        ]  # fmt: skip

    @classmethod
    def of(cls, row: list[Any]) -> HalfMessage:
        return cls(MessageQueue(row[0], row[1], row[2]), *row[3:])


class CommitRecords:
    """The notes of one query, in a folder of a local or any pyarrow filesystem."""

    def __init__(self, location: str, query: str) -> None:
        self._folder = f"{location.rstrip('/')}/{query}"

    def read(self, batch: int) -> list[HalfMessage] | None:
        """The half messages of a batch that was decided; None for one that was not."""
        data = _storage(self._folder).read(f"{batch}.json")
        return None if data is None else [HalfMessage.of(row) for row in orjson.loads(data)]

    def write(self, batch: int, messages: list[HalfMessage]) -> None:
        """Decide the batch. On return the note survives a crash."""
        storage = _storage(self._folder)
        storage.write(f"{batch}.json", orjson.dumps([message.row() for message in messages]))
        storage.remove(f"{batch - KEPT}.json")


class _LocalFolder:
    def __init__(self, path: str) -> None:
        self._path = Path(path.removeprefix("file://").removeprefix("file:"))

    def read(self, name: str) -> bytes | None:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """A crash leaves the whole note or none."""
        replace_file(self._path / name, data)

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)


class _ArrowFolder:
    """Object stores make a file visible when it is closed, whole; HDFS renames."""

    def __init__(self, address: str) -> None:
        from pyarrow.fs import FileSystem

        self._filesystem, self._path = FileSystem.from_uri(address)

    def read(self, name: str) -> bytes | None:
        try:
            with self._filesystem.open_input_stream(f"{self._path}/{name}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        self._filesystem.create_dir(self._path, recursive=True)
        beside = f"{self._path}/.{name}.tmp"
        with self._filesystem.open_output_stream(beside) as file:
            file.write(data)
        self._filesystem.move(beside, f"{self._path}/{name}")

    def remove(self, name: str) -> None:
        try:
            self._filesystem.delete_file(f"{self._path}/{name}")
        except FileNotFoundError:
            return


def _storage(folder: str) -> _LocalFolder | _ArrowFolder:
    return _ArrowFolder(folder) if "://" in folder and not folder.startswith("file://") else _LocalFolder(folder)
