"""The view against every store that Apache RocketMQ wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.stores import NAMES, GoldenStore, fingerprint, unpack

from sprocketmq.errors import StoreError
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.view import ArrowSource, Damage, Sizes, StoreView
from sprocketmq.store.view.rows import message_row, store_row


@pytest.fixture(params=NAMES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> GoldenStore:
    return unpack(request.param, tmp_path)


def test_offsets_tables_and_checkpoint_are_those_after_recovery(golden: GoldenStore) -> None:
    row, expect = store_row(StoreView(golden.root)), golden.expect
    for name in ("commitLog", "checkpoint", "consumerOffsets", "delayOffsets", "abortFilePresent"):
        assert row[name] == expect[name], name
    for name in ("commitLogFileSize", "consumeQueueFileSize", "indexHashSlots", "indexMaxEntries"):
        assert row[name] == expect[name], name
    bounds = {
        topic: {
            queue: {"minOffset": found["minOffset"], "maxOffset": found["maxOffset"]} for queue, found in queues.items()
        }
        for topic, queues in expect["topics"].items()
    }
    assert row["topics"] == bounds


def test_index_files_are_those_after_recovery(golden: GoldenStore) -> None:
    found = store_row(StoreView(golden.root))["indexFilesAfterOpen"]
    expected = golden.expect["indexFilesAfterOpen"]
    if golden.expect["abortFilePresent"]:  # the last file was made anew at the broker's start, and named by the hour
        for rows in (found, expected):
            rows[-1]["file"] = "new"
    assert found == expected


def test_every_message_of_every_queue(golden: GoldenStore) -> None:
    view = StoreView(golden.root)
    for topic, queues in golden.expect["topics"].items():
        for queue_id, expected in queues.items():
            rows = []
            for offset, entry, record in view.read_queue(topic, int(queue_id)):
                assert isinstance(record, Record)
                rows.append(message_row(record, offset, entry.tags_code))
            for row in rows:
                assert (row.pop("topic"), row.pop("queueId")) == (topic, int(queue_id))
            assert rows == expected["messages"]


def test_queries_by_key(golden: GoldenStore) -> None:
    view = StoreView(golden.root)
    for query in golden.expect["keyQueries"]:
        found = view.find_key(query["topic"], query["key"], query["begin"], query["end"], query["maxNum"])
        assert [record.commit_offset for record in found] == query["physicalOffsets"], query


def test_offsets_by_time(golden: GoldenStore) -> None:
    view = StoreView(golden.root)
    for query in golden.expect["offsetByTime"]:
        place = query["topic"], query["queueId"], query["timestamp"]
        assert view.offset_by_time(*place) == query["lower"], query
        assert view.offset_by_time(*place, upper=True) == query["upper"], query


def test_looking_changes_nothing(golden: GoldenStore) -> None:
    before = fingerprint(golden.root)
    view = StoreView(golden.root)
    assert all(isinstance(found, Record) for found in view.read_log())
    store_row(view)
    assert fingerprint(golden.root) == before


def test_commit_order_has_every_record_once(golden: GoldenStore) -> None:
    at = golden.expect["commitLog"]["minOffset"]
    for found in StoreView(golden.root).read_log():
        assert isinstance(found, Record)
        assert found.commit_offset >= at
        at = found.commit_offset + found.size
    assert at == golden.expect["commitLog"]["maxOffset"]


def test_a_remote_filesystem_shows_the_same(golden: GoldenStore) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    source = ArrowSource(fs.LocalFileSystem(), str(golden.root))
    source.window = 700  # less than a record now and then, so that windows move
    assert store_row(StoreView(source)) == store_row(StoreView(golden.root))


def test_a_store_without_queues_and_index_shows_them_from_the_log(tmp_path: Path) -> None:
    """After a crash; a clean store dispatches everything again too, since no queue has anything."""
    golden = unpack("clean", tmp_path)
    shutil.rmtree(golden.root / "consumequeue")
    shutil.rmtree(golden.root / "index")
    view = StoreView(golden.root, Sizes(hash_slots=50, index_entries=200))
    bounds = store_row(view)["topics"]
    assert bounds["AuditLog"]["0"] == {"minOffset": 0, "maxOffset": 412}
    query = golden.expect["keyQueries"][0]
    found = view.find_key(query["topic"], query["key"])
    assert [record.commit_offset for record in found] == query["physicalOffsets"]


def test_damage_before_the_checkpoint_is_reported_and_skipped(tmp_path: Path) -> None:
    golden = unpack("clean", tmp_path)
    hit = golden.expect["topics"]["AuditLog"]["0"]["messages"][0]
    log = golden.root / "commitlog" / f"{0:020}"
    data = bytearray(log.read_bytes())
    data[hit["physicalOffset"] + 100] ^= 1
    log.write_bytes(data)
    found = list(StoreView(golden.root).read_log())
    damage = [one for one in found if isinstance(one, Damage)]
    assert [(one.begin, one.end) for one in damage] == [
        (hit["physicalOffset"], hit["physicalOffset"] + hit["size"]),
    ]
    assert len(found) == 1018


def test_a_queue_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreError, match="no queue 7 of topic Nothing"):
        StoreView(Path("/nonexistent")).queue("Nothing", 7)
