"""The tables in `config/` that a view shows: consumer offsets, delay offsets, topics.

A file that is missing, empty or unreadable gives way to its `.bak`, as when a broker loads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sprocketmq.errors import StoreCorrupt
from sprocketmq.store.files.config_files import first_readable, json_object
from sprocketmq.store.files.deleted_topics import FILE_NAME, Deletions, decode_deletions
from sprocketmq.store.view.source import ByteSource, read_whole

B = TypeVar("B")

CONFIG_FILES = (
    "topics.json",
    "subscriptionGroup.json",
    "consumerOffset.json",
    "delayOffset.json",
    "consumerFilter.json",
    FILE_NAME,
)


def read_config(source: ByteSource, name: str) -> dict[str, Any] | None:
    """The file's content; None when there is none. StoreCorrupt when neither it nor its `.bak` can be read."""
    return _read(source, name, json_object)


def _read(source: ByteSource, name: str, decode: Callable[[bytes], B]) -> B | None:
    path = f"config/{name}"
    texts = (read_whole(source, path), read_whole(source, f"{path}.bak"))
    return first_readable(source.describe(path), texts, decode)


def consumer_offsets(source: ByteSource) -> dict[str, dict[str, int]] | None:
    """`topic@group` to the committed offset of each queue."""
    found = read_config(source, "consumerOffset.json")
    if found is None:
        return None
    table = found.get("offsetTable", {})
    return {key: {str(queue_id): offset for queue_id, offset in queues.items()} for key, queues in table.items()}


def delay_offsets(source: ByteSource) -> dict[str, int] | None:
    """Delay level to the queue offset that is delivered next."""
    found = read_config(source, "delayOffset.json")
    return None if found is None else {str(level): offset for level, offset in found.get("offsetTable", {}).items()}


def topic_names(source: ByteSource) -> set[str] | None:
    found = read_config(source, "topics.json")
    return None if found is None else set(found.get("topicConfigTable", {}))


def deletions(source: ByteSource) -> Deletions:
    """Topics that were deleted; a file that cannot be read is a finding of the check, and says nothing here."""
    try:
        return _read(source, FILE_NAME, decode_deletions) or {}
    except StoreCorrupt:
        return {}
