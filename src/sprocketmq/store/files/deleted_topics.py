"""Topics that were deleted: their records stay in the log until its files go, and count no more.

config/deletedTopics.json    {deletedTopics{topic: {commitOffset, storeTimestamp}}}, a file that RocketMQ leaves alone

A topic that is made again begins at queue offset 0, so old and new records share their queue offsets. What lies before
`commitOffset` and is not younger than `storeTimestamp`, the store time of the log's last record when the topic was
deleted, is of the deleted one. The time matters where another broker has cut the log and gone on below the offset.

The file is on disk before the deletion is answered. An entry goes when the log before it has gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from sprocketmq.errors import BodyError
from sprocketmq.protocol import java_json
from sprocketmq.store.files.config_files import ConfigFile, json_object
from sprocketmq.store.files.files import Files

FILE_NAME = "deletedTopics.json"
_TABLE = "deletedTopics"


class Deletion(NamedTuple):
    commit_offset: int
    store_timestamp: int

    def covers(self, commit_offset: int, store_timestamp: int) -> bool:
        """Whether a record of the topic is of the deleted one."""
        return commit_offset < self.commit_offset and store_timestamp <= self.store_timestamp


Deletions = Mapping[str, Deletion]


def decode_deletions(data: bytes) -> Deletions:
    """Raises BodyError."""
    try:
        table = json_object(data)[_TABLE]
        return {topic: Deletion(int(at["commitOffset"]), int(at["storeTimestamp"])) for topic, at in table.items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BodyError(f"no table of deleted topics: {error!r}") from error


def _encode(table: Deletions) -> bytes:
    entries = {
        topic: {"commitOffset": each.commit_offset, "storeTimestamp": each.store_timestamp}
        for topic, each in sorted(table.items())
    }
    return java_json.dumps_pretty({_TABLE: entries})


class DeletedTopics:
    """`table` changes only when the file has."""

    def __init__(self, files: Files, config: Path) -> None:
        self.table: dict[str, Deletion] = {}
        self._file = ConfigFile(files, config / FILE_NAME, decode_deletions, _encode)

    def load(self) -> None:
        self.set(self._file.load() or {})

    def with_deletion(self, topics: Iterable[str], deletion: Deletion, log_begin: int) -> dict[str, Deletion]:
        """The table as it will be."""
        return _living(self.table | dict.fromkeys(topics, deletion), log_begin)

    def write(self, table: Deletions) -> None:
        """Only the file; from any thread."""
        self._file.save(table)

    def settle(self, log_begin: int, log_end: int) -> None:
        """After recovery: what the log has lost or no longer has needs no entry, and the next record is a new one."""
        cut = {
            topic: each._replace(commit_offset=min(each.commit_offset, log_end)) for topic, each in self.table.items()
        }
        living = _living(cut, log_begin)
        if living != self.table:
            self.write(living)
            self.set(living)

    def set(self, table: Deletions) -> None:
        """The file has it. In place: others look at this table."""
        self.table.clear()
        self.table.update(table)


def _living(table: Deletions, log_begin: int) -> dict[str, Deletion]:
    return {topic: each for topic, each in table.items() if each.commit_offset > log_begin}
