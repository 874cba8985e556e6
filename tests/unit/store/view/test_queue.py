"""Where a queue ends on disk, whatever a crash left behind its last entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq.store.queue.format import ENTRY, ENTRY_SIZE
from sprocketmq.store.view.queue import QueueFile, QueueView
from sprocketmq.store.view.source import open_source

ENTRIES = 10
SIZE = ENTRIES * ENTRY_SIZE


def queue_of(folder: Path, written: list[int], safe_below: int = 0) -> QueueView:
    """Files of ten entries, of which the first `written` hold something."""
    files, number = [], 0
    for index, count in enumerate(written):
        data = b"".join(ENTRY.pack(100 * (number + each), 100, 7) for each in range(count))
        number += count
        name = f"{index * SIZE:020}"
        (folder / name).write_bytes(data.ljust(SIZE, b"\0"))
        files.append(QueueFile(name, index * SIZE, SIZE))
    return QueueView(open_source(folder), "T", 0, files, SIZE, safe_below)


@pytest.mark.parametrize(
    ("written", "end"),
    [
        ([], 0),
        ([4], 4),
        ([10, 10, 3], 23),
        ([10, 10, 10, 10, 10], 50),
        ([10, 3, 0, 0, 0, 0], 13),  # pages of several files never reached the disk
        ([10, 0, 0, 0, 0, 0], 10),
        ([10, 4, 0, 10, 0], 14),  # what follows a hole does not count
        ([10, 4, 10, 10, 10, 10], 14),  # wherever it is
    ],
)
def test_the_end_of_a_queue(tmp_path: Path, written: list[int], end: int) -> None:
    assert queue_of(tmp_path, written).max_offset == end


def test_a_queue_is_looked_through_from_where_it_was_safe(tmp_path: Path) -> None:
    """A hole before is damage, which `verify` reports; it takes nothing else away."""
    assert queue_of(tmp_path, [10, 4, 10, 10, 10, 3], safe_below=100 * 34).max_offset == 53
    assert queue_of(tmp_path, [10, 4, 10, 10, 10, 3], safe_below=100 * 24).max_offset == 53
    assert queue_of(tmp_path, [10, 4, 10, 10, 10, 3], safe_below=100 * 14).max_offset == 14
