"""Stores as Arrow batches, against what Apache RocketMQ says is in them."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.stores import GoldenStore, unpack

from sprocketmq.errors import StoreCorrupt, StoreError
from sprocketmq.protocol.arrow.columns import COLUMNS
from sprocketmq.store.view import Found, LogSplit, QueueSplit, Selection, StoreView, plan_splits, rows
from sprocketmq.store.view.scan_batches import OnDamage, Scan, ScanStats
from sprocketmq.store.view.scan_select import scan_log, scan_queues


def scan(root: Path | str, on_damage: OnDamage = "fail", columns: tuple[str, ...] = COLUMNS, **selected: Any) -> Any:
    """All pieces of a store, one after the other."""
    sets = {name: frozenset(value) for name, value in selected.items() if not isinstance(value, int)}
    how = Scan(str(root), Selection(**{**selected, **sets}), columns, on_damage)
    pieces = plan_splits(root, how.selection)
    return pa.RecordBatchReader.from_batches(how.schema(), (batch for piece in pieces for batch in how.read(piece)))


NAMES = ("clean", "killed", "torn", "features")


@pytest.fixture(params=NAMES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> GoldenStore:
    return unpack(request.param, tmp_path)


@pytest.fixture
def clean(tmp_path: Path) -> GoldenStore:
    return unpack("clean", tmp_path)


def taken(found: Any) -> list[tuple[str, int, int, int]]:
    table = found.read_all() if hasattr(found, "read_all") else found
    names = ("topic", "queueId", "queueOffset", "commitLogOffset")
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def test_the_whole_log_is_read_in_commit_order(store: GoldenStore) -> None:
    records = [one.record for one in scan_log(StoreView(store.root), Selection()) if isinstance(one, Found)]
    expected = [(one.topic, one.queue_id, one.queue_offset, one.commit_offset) for one in records]
    assert taken(scan(store.root, on_damage="skip")) == expected
    assert expected


def test_every_field_is_as_the_view_shows_it(clean: GoldenStore) -> None:
    table = scan(clean.root, topics={"OrderEvents"}).read_all().to_pylist()
    view = StoreView(clean.root)
    found = scan_queues(view, Selection(topics=frozenset({"OrderEvents"})))
    for row, one in zip(table, found, strict=True):
        assert isinstance(one, Found)
        shown = rows.message_row(one.record, one.queue_offset, one.tags_code)
        for name in ("topic", "queueId", "queueOffset", "msgId", "uniqKey", "keys", "tags", "bornHost", "storeHost"):
            assert row[name] == shown[name], name
        assert dict(row["properties"]) == shown["properties"]
        assert row["body"] == rows.plain_body(one.record)
        assert int(row["storeTimestamp"].timestamp() * 1000) == shown["storeTimestamp"]


def test_a_topic_is_read_through_its_queues(store: GoldenStore) -> None:
    view = StoreView(store.root)
    topic = min(view.queues)[0]
    expected = [
        (topic, one.record.queue_id, one.queue_offset, one.record.commit_offset)
        for one in scan_queues(view, Selection(topics=frozenset({topic})))
        if isinstance(one, Found)
    ]
    found = taken(scan(store.root, topics={topic}, on_damage="skip"))
    assert sorted(found) == expected
    assert found == expected or view.crashed, "what queues may not know after a crash comes last"


def test_pieces_hold_everything_once(clean: GoldenStore) -> None:
    pieces = plan_splits(clean.root, split_bytes=10_000)
    assert len(pieces) > 20
    assert all(isinstance(piece, LogSplit) for piece in pieces)
    how = Scan(str(clean.root))
    found = [place for piece in pieces for batch in how.read(piece) for place in taken(batch)]
    assert found == taken(scan(clean.root))


def test_at_least_so_many_pieces(clean: GoldenStore) -> None:
    assert len(plan_splits(clean.root, at_least=6)) >= 6
    queues = plan_splits(clean.root, Selection(topics=frozenset({"OrderEvents"})), at_least=9)
    assert len(queues) >= 9
    assert all(isinstance(piece, QueueSplit) for piece in queues)
    how = Scan(str(clean.root), Selection(topics=frozenset({"OrderEvents"})))
    found = [place for piece in queues for batch in how.read(piece) for place in taken(batch)]
    assert found == taken(scan(clean.root, topics={"OrderEvents"}))


@pytest.mark.parametrize("topics", [{"OrderEvents"}, set()])
def test_a_selection_touches_only_what_it_needs(clean: GoldenStore, topics: set[str]) -> None:
    table = scan(clean.root, topics=topics).read_all()
    tag, count = Counter(tag for tag in table["tags"].to_pylist() if tag).most_common(1)[0]
    selection = Selection(topics=frozenset(topics), tags=frozenset({str(tag)}))
    stats = ScanStats()
    how = Scan(str(clean.root), selection, ("tags",))
    batches = [b for piece in plan_splits(clean.root, selection) for b in how.read(piece, stats)]
    assert sum(batch.num_rows for batch in batches) == count == stats.rows_scanned == stats.rows_returned
    assert stats.rows_scanned < table.num_rows


def test_bodies_that_are_not_wanted_are_not_read(clean: GoldenStore) -> None:
    """By the log, where the records of all topics are looked at: damage in another topic's body is not met."""
    victim = next(row for row in scan(clean.root).read_all().to_pylist() if row["topic"] == "AuditLog")
    flip(clean.root, victim["commitLogOffset"] + 88)
    shutil.rmtree(clean.root / "consumequeue")
    stats = ScanStats()
    how = Scan(str(clean.root), Selection(topics=frozenset({"OrderEvents"})))
    rows = sum(batch.num_rows for piece in plan_splits(clean.root, how.selection) for batch in how.read(piece, stats))
    assert rows == stats.rows_returned < stats.rows_scanned == 1018


def test_bounds_of_offset_time_and_place(clean: GoldenStore) -> None:
    everything = scan(clean.root).read_all().to_pylist()
    times = sorted({int(row["storeTimestamp"].timestamp() * 1000) for row in everything})
    begin, end = times[len(times) // 3], times[2 * len(times) // 3]
    choices: list[dict[str, Any]] = [{}, {"topics": {"OrderEvents"}}]
    for topics in choices:
        chosen = [row for row in everything if not topics or row["topic"] == "OrderEvents"]
        found = scan(clean.root, begin_time=begin, end_time=end, **topics).read_all()
        within = [r for r in chosen if begin <= int(r["storeTimestamp"].timestamp() * 1000) <= end]
        assert sorted(str(offset) for offset in found["commitLogOffset"].to_pylist()) == sorted(
            str(r["commitLogOffset"]) for r in within
        )
        found = scan(clean.root, begin_offset=3, end_offset=9, queue_ids={1}, **topics).read_all()
        assert found.num_rows == sum(3 <= r["queueOffset"] < 9 and r["queueId"] == 1 for r in chosen)
        middle = everything[500]["commitLogOffset"]
        found = scan(clean.root, begin_physical=middle, columns=("commitLogOffset",), **topics).read_all()
        assert found.num_rows == sum(r["commitLogOffset"] >= middle for r in chosen)


def test_keys_find_their_messages(clean: GoldenStore) -> None:
    row = next(row for row in scan(clean.root).read_all().to_pylist() if row["keys"])
    key = row["keys"].split()[0]
    assert row["commitLogOffset"] in scan(clean.root, keys={key}).read_all()["commitLogOffset"].to_pylist()
    assert scan(clean.root, keys={row["uniqKey"]}).read_all().num_rows == 1


def test_a_log_without_queues_is_enough(clean: GoldenStore) -> None:
    expected = sorted(taken(scan(clean.root, topics={"OrderEvents"})))
    shutil.rmtree(clean.root / "consumequeue")
    assert sorted(taken(scan(clean.root, topics={"OrderEvents"}))) == expected


@pytest.mark.parametrize("topics", [{}, {"topics": {"OrderEvents"}}])
def test_damage_fails_is_skipped_or_shown(clean: GoldenStore, topics: dict[str, Any]) -> None:
    table = scan(clean.root, **topics).read_all().to_pylist()
    victim = table[len(table) // 2]
    flip(clean.root, victim["commitLogOffset"] + 88)  # where the body begins: only that is guarded
    with pytest.raises(StoreCorrupt):
        scan(clean.root, **topics).read_all()
    kept = [row["commitLogOffset"] for row in table if row != victim]
    assert scan(clean.root, on_damage="skip", **topics).read_all()["commitLogOffset"].to_pylist() == kept
    shown = scan(clean.root, on_damage="column", columns=("commitLogOffset", "queueOffset", "damage"), **topics)
    damaged = [row for row in shown.read_all().to_pylist() if row["damage"] is not None]
    assert [row["commitLogOffset"] for row in damaged] == [victim["commitLogOffset"]]
    assert damaged[0]["queueOffset"] == (victim["queueOffset"] if topics else None)


def flip(root: Path, offset: int) -> None:
    path = max(path for path in (root / "commitlog").iterdir() if int(path.name) <= offset)
    data = bytearray(path.read_bytes())
    data[offset - int(path.name)] ^= 0x55
    path.write_bytes(data)


def test_a_store_on_another_filesystem(clean: GoldenStore) -> None:
    address = f"file://{clean.root}"
    from sprocketmq.store.view.source import ArrowSource, open_source

    assert isinstance(open_source(address), ArrowSource)
    assert taken(scan(address)) == taken(scan(clean.root))
    assert taken(scan(address, topics={"AuditLog"})) == taken(scan(clean.root, topics={"AuditLog"}))


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a store"):
        scan(tmp_path)


def test_unknown_columns_are_named(clean: GoldenStore) -> None:
    with pytest.raises(ValueError, match="no such column: nonsense"):
        scan(clean.root, columns=("nonsense",)).read_all()
