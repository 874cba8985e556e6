"""The notes that decide a micro-batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.write.commit_records import KEPT, CommitRecords, HalfMessage

MESSAGES = [HalfMessage(MessageQueue("orders", "broker-a", n), f"KEY{n}", 10 + n, 1000 + n, f"tx{n}") for n in range(3)]


@pytest.fixture(params=["", "file://"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> CommitRecords:
    return CommitRecords(f"{request.param}{tmp_path}/commits", "query-1")


def test_a_batch_is_decided_once_it_is_written(records: CommitRecords) -> None:
    assert records.read(7) is None
    records.write(7, MESSAGES)
    assert records.read(7) == MESSAGES
    assert records.read(8) is None


def test_queries_do_not_see_each_other(tmp_path: Path) -> None:
    CommitRecords(str(tmp_path), "one").write(0, MESSAGES)
    assert CommitRecords(str(tmp_path), "two").read(0) is None


def test_old_notes_are_removed(records: CommitRecords) -> None:
    records.write(0, MESSAGES)
    records.write(KEPT, [])
    assert records.read(0) is None
    assert records.read(KEPT) == []


def test_a_note_that_was_not_finished_does_not_count(records: CommitRecords, tmp_path: Path) -> None:
    folder = tmp_path / "commits" / "query-1"
    folder.mkdir(parents=True)
    (folder / ".7.json.tmp").write_bytes(b"[[")
    assert records.read(7) is None
