from __future__ import annotations

from pathlib import Path

import pytest
from tests.stores import NAMES, unpack

from sprocketmq.spark.pipeline.audit import check_entries
from sprocketmq.store.offline.verify_findings import Finding
from sprocketmq.store.queue.format import ENTRY_SIZE
from sprocketmq.store.view import StoreView


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_of_a_store_is_in_its_place(name: str, tmp_path: Path) -> None:
    view = StoreView(unpack(name, tmp_path).root)
    for (topic, queue_id), queue in view.queues.items():
        begin, end = queue.min_offset, queue.max_offset
        assert list(check_entries(view, topic, queue_id, begin, end)) == [("queue", end - begin)]


def test_entries_that_changed_places(tmp_path: Path) -> None:
    root = unpack("clean", tmp_path).root
    file = min((root / "consumequeue" / "AuditLog" / "0").iterdir())
    data = file.read_bytes()
    first, second = data[:ENTRY_SIZE], data[ENTRY_SIZE : 2 * ENTRY_SIZE]
    file.write_bytes(second + first + data[2 * ENTRY_SIZE :])
    found = [one for one in check_entries(StoreView(root), "AuditLog", 0, 0, 5) if isinstance(one, Finding)]
    assert [(one.offset, one.what) for one in found] == [
        (0, "entry 0 points to the message of AuditLog:0 at 1"),
        (ENTRY_SIZE, "entry 1 points to the message of AuditLog:0 at 0"),
    ]
