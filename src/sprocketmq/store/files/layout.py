"""Where everything is in a store directory.

root/ commitlog/NAME                     NAME is the offset of the file's first byte, 20 digits
      consumequeue/TOPIC/QUEUE/NAME      likewise consumequeue_ext/
      index/TIME                         TIME is the local creation time, yyyyMMddHHmmssSSS
      config/*.json  checkpoint  abort  lock  quarantine/

A topic becomes a folder, so its name is checked before any path is made, whether it came from a peer or from the
disk: `[%|a-zA-Z0-9_-]`, at most 255 of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sprocketmq.errors import MessageIllegal

_TOPIC = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")
_NAME = re.compile(r"\d{20}")
_TIME = re.compile(r"\d{17}")


@dataclass(frozen=True, slots=True)
class Layout:
    root: Path
    commit_log_dirs: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not self.commit_log_dirs:
            object.__setattr__(self, "commit_log_dirs", (self.root / "commitlog",))

    @property
    def consume_queues(self) -> Path:
        return self.root / "consumequeue"

    @property
    def consume_queue_exts(self) -> Path:
        return self.root / "consumequeue_ext"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def config(self) -> Path:
        return self.root / "config"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def abort(self) -> Path:
        return self.root / "abort"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine"

    def commit_log_file(self, base_offset: int, file_size: int) -> Path:
        """Several folders take the files in turn, as RocketMQ deals them out."""
        folder = self.commit_log_dirs[base_offset // file_size % len(self.commit_log_dirs)]
        return folder / file_name(base_offset)

    def consume_queue(self, topic: str, queue_id: int) -> Path:
        return Path(f"{self.root}/consumequeue/{topic_name(topic)}/{queue_id}")  # one Path: there are many queues

    def consume_queue_ext(self, topic: str, queue_id: int) -> Path:
        return self.consume_queue_exts / topic_name(topic) / str(queue_id)


def topic_name(topic: str) -> str:
    """The name, when it may become a folder."""
    if not _TOPIC.fullmatch(topic):
        raise MessageIllegal(f"topic {topic[:300]!r} has characters or a length that no topic may have")
    return topic


def is_topic_name(name: str) -> bool:
    return _TOPIC.fullmatch(name) is not None


def file_name(base_offset: int) -> str:
    return f"{base_offset:020d}"


def base_offset_of(name: str) -> int | None:
    """The offset in a data file's name; None for a name that is none."""
    return int(name) if _NAME.fullmatch(name) else None


def is_index_name(name: str) -> bool:
    return _TIME.fullmatch(name) is not None


def queue_id_of(name: str) -> int | None:
    return int(name) if name.isdecimal() and len(name) <= 10 else None
