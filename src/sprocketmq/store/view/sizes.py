"""File sizes of a store: as the caller gives them, or found from the files themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sprocketmq.store.queue.format import ENTRY_SIZE
from sprocketmq.store.view.index import IndexShape, guess_shape
from sprocketmq.store.view.log import LogFile
from sprocketmq.store.view.queue import QueueFile
from sprocketmq.store.view.source import ByteSource

DEFAULT_LOG_FILE = 1 << 30
DEFAULT_QUEUE_FILE = 300_000 * ENTRY_SIZE


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the broker's configuration says of its files; None is found out."""

    commit_log: int | None = None
    consume_queue: int | None = None
    hash_slots: int | None = None
    index_entries: int | None = None


def log_file_size(files: list[LogFile], given: int | None) -> int:
    """Names are multiples of the size, so the least step between two of them is it."""
    if given is not None:
        return given
    steps = [second.base - first.base for first, second in pairwise(files)]
    return min(steps) if steps else (files[0].size if files else 0) or DEFAULT_LOG_FILE


def queue_file_size(queues: Iterable[list[QueueFile]], given: int | None) -> int:
    """All queues have the same size; damage can only have made a file shorter."""
    if given is not None:
        return given
    largest = max((file.size for files in queues for file in files), default=0)
    return largest - largest % ENTRY_SIZE or DEFAULT_QUEUE_FILE


def index_shape(source: ByteSource, files: list[tuple[str, int]], sizes: Sizes) -> IndexShape:
    """`files` are the paths and sizes in `index/`; the first one, being full, says the most."""
    if sizes.hash_slots is not None and sizes.index_entries is not None:
        return IndexShape(sizes.hash_slots, sizes.index_entries)
    default = IndexShape()
    largest = max((size for _, size in files), default=0)
    whole = [path for path, size in files if size == largest]
    if not whole or largest == default.file_size:
        return default
    return guess_shape(source, whole[0], largest)
