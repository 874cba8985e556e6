"""Pages of a file: what is allocated, cleared and synced counts in them."""

from __future__ import annotations

import errno
from pathlib import Path

from sprocketmq.errors import QueueUnwritable, StoreError, StoreFull
from sprocketmq.store.files.files import Files

PAGE = 4096
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def page_end(position: int) -> int:
    """The end of the page that the byte before `position` is in."""
    return (position + PAGE - 1) // PAGE * PAGE


def space_error(error: OSError, path: Path) -> StoreError:
    kind = StoreFull if error.errno in NO_SPACE else StoreError
    return kind(f"{path}: {error.strerror or error}")


def queue_error(error: OSError, path: Path) -> StoreError:
    """The same for a file of a queue: a full disk is everybody's, whatever else is the matter is that queue's alone."""
    if error.errno in NO_SPACE:
        return space_error(error, path)
    return QueueUnwritable(f"{path}: {error.strerror or error}")


def clear_file(files: Files, path: Path, start: int) -> bool:
    """Zero a file from `start` to its end and make that durable; whether there was anything to clear."""
    file = files.open(path)
    try:
        changed = False
        for low, high in file.data_ranges(start, file.size):
            while low < high:
                step = min(high - low, 1 << 20)
                if file.read(low, step) != bytes(step):
                    file.write(low, bytes(step))
                    changed = True
                low += step
        if changed:
            file.sync()
        return changed
    finally:
        file.close()
