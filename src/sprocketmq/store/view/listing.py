"""The files of a store, as its folders list them; nothing in them is read yet."""

from __future__ import annotations

from collections.abc import Container

from sprocketmq.store.files.layout import base_offset_of, is_topic_name, queue_id_of
from sprocketmq.store.view.log import LogFile, LogView
from sprocketmq.store.view.queue import QueueFile
from sprocketmq.store.view.sizes import log_file_size
from sprocketmq.store.view.source import ByteSource


def open_log(source: ByteSource, file_size: int | None = None) -> LogView:
    """The CommitLog; without `file_size` its files tell how long one is."""
    files = [
        LogFile(f"commitlog/{entry.name}", base, entry.size)
        for entry in source.entries("commitlog")
        if (base := base_offset_of(entry.name)) is not None
    ]
    if files and files[-1].size == 0:  # it was made, and nothing was written to it
        files.pop()
    return LogView(source, files, log_file_size(files, file_size))


def list_topics(source: ByteSource) -> list[str]:
    """The topics that have a queue."""
    return [entry.name for entry in source.entries("consumequeue") if entry.is_directory and is_topic_name(entry.name)]


def list_queues(source: ByteSource, topics: Container[str] | None = None) -> dict[tuple[str, int], list[QueueFile]]:
    """The files of every queue of these topics, or of all, by topic and id."""
    return {
        (topic, queue_id): queue_files(source, f"consumequeue/{topic}/{entry.name}")
        for topic in list_topics(source)
        if topics is None or topic in topics
        for entry in source.entries(f"consumequeue/{topic}")
        if entry.is_directory and (queue_id := queue_id_of(entry.name)) is not None
    }


def queue_files(source: ByteSource, folder: str) -> list[QueueFile]:
    return [
        QueueFile(f"{folder}/{entry.name}", base, entry.size)
        for entry in source.entries(folder)
        if (base := base_offset_of(entry.name)) is not None
    ]
