"""Stores written by Apache RocketMQ 5.3.3, opened for writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.stores import NAMES, GoldenStore, unpack

from sprocketmq.protocol.record.record import decode_record, decode_records
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.lookup import Boundary
from sprocketmq.store.pull.get import GetStatus
from sprocketmq.store.store import MessageStore

FOREVER = 1 << 62


def settings(golden: GoldenStore, **more: Any) -> StoreConfig:
    expect = golden.expect
    return StoreConfig(
        store_path_root_dir=str(golden.root),
        mapped_file_size_commit_log=expect["commitLogFileSize"],
        mapped_file_size_consume_queue=expect["consumeQueueFileSize"],
        max_hash_slot_num=expect["indexHashSlots"],
        max_index_num=expect["indexMaxEntries"],
        **more,
    )


def reopen(golden: GoldenStore) -> MessageStore:
    return MessageStore.open(settings(golden), background=False)


@pytest.fixture(params=NAMES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> GoldenStore:
    return unpack(request.param, tmp_path)


def queues(expect: dict[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
    return [
        (topic, int(queue_id), queue)
        for topic, of_topic in expect["topics"].items()
        for queue_id, queue in of_topic.items()
    ]


def test_offsets_are_those_the_java_broker_found(golden: GoldenStore) -> None:
    store = reopen(golden)
    assert store.log.min_offset == golden.expect["commitLog"]["minOffset"]
    assert store.log.max_offset == golden.expect["commitLog"]["maxOffset"]
    found = {(queue.topic, queue.queue_id): (queue.min_offset, queue.max_offset) for queue in store.queues}
    assert found == {(t, q): (queue["minOffset"], queue["maxOffset"]) for t, q, queue in queues(golden.expect)}
    store.close()


def test_every_message_is_pulled_as_java_reads_it(golden: GoldenStore) -> None:
    store = reopen(golden)
    for topic, queue_id, queue in queues(golden.expect):
        pulled, offset = [], queue["minOffset"]
        while offset < queue["maxOffset"]:
            result = store.get_message(topic, queue_id, offset, 32, 1 << 20)
            assert result.status is GetStatus.FOUND
            pulled += decode_records(result.records)
            offset = result.next_begin_offset
        assert [(r.queue_offset, r.commit_offset, r.size, r.store_timestamp) for r in pulled] == [
            (m["queueOffset"], m["physicalOffset"], m["size"], m["storeTimestamp"]) for m in queue["messages"]
        ]
        entries = [store.reader.entry(topic, queue_id, m["queueOffset"]) for m in queue["messages"]]
        assert [entry and entry.tags_code for entry in entries] == [m["tagsCode"] for m in queue["messages"]]
    store.close()


def test_times_and_keys_lead_to_the_same_messages(golden: GoldenStore) -> None:
    store = reopen(golden)
    for case in golden.expect["offsetByTime"]:
        place = case["topic"], case["queueId"], case["timestamp"]
        assert store.reader.offset_by_time(*place) == case["lower"]
        assert store.reader.offset_by_time(*place, Boundary.UPPER) == case["upper"]
    for case in golden.expect["keyQueries"]:
        found = store.reader.query(case["topic"], case["key"], case["maxNum"], case["begin"], case["end"])
        # Java indexes the record at the seam of a recovery twice and answers it twice; once is enough.
        assert [record.commit_offset for record in found] == sorted(set(case["physicalOffsets"]))
    store.close()


def test_index_headers_after_opening_are_javas(golden: GoldenStore) -> None:
    store = reopen(golden)
    assert store.index is not None
    ours = [
        (h.begin_timestamp, h.end_timestamp, h.begin_offset, h.end_offset, h.used_slots, h.index_count)
        for _name, h in store.index.headers()
    ]
    keys = ("beginTimestamp", "endTimestamp", "beginPhyOffset", "endPhyOffset", "hashSlotCount", "indexCount")
    assert ours == [tuple(file[key] for key in keys) for file in golden.expect["indexFilesAfterOpen"]]
    store.close()


def test_writing_goes_on_where_java_stopped(golden: GoldenStore) -> None:
    store = reopen(golden)
    end = golden.expect["commitLog"]["maxOffset"]
    topic, queue_id, queue = queues(golden.expect)[0]
    first = store.put(topic, queue_id, 7, 0, b"ours", b"KEYS\x01our-key\x02", 1, bytes(8), 0, 0)
    room = -end % store.log.file_size
    assert first.commit_offset == (end if first.size + 8 <= room else end + room) or len(topic) > 127
    if first.ok:
        assert first.queue_offset == queue["maxOffset"]
        result = store.get_message(topic, queue_id, first.queue_offset, 1, 1 << 20)
        assert decode_record(result.records).body == b"ours"
        assert [r.body for r in store.reader.query(topic, "our-key", 5, 0, FOREVER)] == [b"ours"]
    store.close()
    again = reopen(golden)
    assert again.report.clean
    assert again.log.max_offset == first.end_offset if first.ok else end
    again.close()


def test_a_killed_store_keeps_every_acknowledged_message(tmp_path: Path) -> None:
    golden = unpack("killed", tmp_path)
    store = reopen(golden)
    assert not store.report.clean
    for sent in golden.expect["acknowledgedSends"]:
        entry = store.reader.entry(sent["topic"], sent["queueId"], sent["queueOffset"])
        assert entry is not None
        record = store.reader.record_at(entry.commit_offset)
        assert record is not None
        assert sent["offsetMsgId"] == (record.store_host + record.commit_offset.to_bytes(8, "big")).hex().upper()
    store.close()


def test_a_torn_store_sets_the_records_behind_the_damage_aside(tmp_path: Path) -> None:
    golden = unpack("torn", tmp_path)
    store = reopen(golden)
    [kept] = store.report.quarantined
    assert kept.commit_offset == golden.expect["at"]
    assert kept.records > 0
    store.close()
