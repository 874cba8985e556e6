from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.stores import NAMES, GoldenStore, unpack

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.record.hosts import host_text
from sprocketmq.store import Scan, scan
from sprocketmq.store.view import ArrowSource, Damage, Selection, StoreView, scan_log, scan_queues
from sprocketmq.store.view.rows import message_row, plain_body
from sprocketmq.store.view.scan_select import Found
from sprocketmq.store.view.scan_splits import plan_splits

pa = pytest.importorskip("pyarrow")


@pytest.fixture(params=NAMES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> GoldenStore:
    return unpack(request.param, tmp_path)


def rows_of(reader: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = reader.read_all().to_pylist()
    return rows


def expected(found: Found) -> dict[str, Any]:
    record = found.record
    row = message_row(record, found.queue_offset, found.tags_code)
    return {
        **{name: row[name] for name in ("topic", "queueId", "tags", "keys", "uniqKey", "msgId", "sysFlag", "flag")},
        "queueOffset": record.queue_offset,
        "commitLogOffset": record.commit_offset,
        "bornHost": host_text(record.born_host),
        "body": plain_body(record),
        "storeSize": record.size,
        "properties": sorted(row["properties"].items()),
    }


def test_the_whole_log_in_commit_order(golden: GoldenStore) -> None:
    view = StoreView(golden.root)
    rows = rows_of(scan(view.source))
    want = [expected(found) for found in scan_log(view, Selection()) if isinstance(found, Found)]
    assert len(rows) == len(want)
    for row, one in zip(rows, want, strict=True):
        row["properties"] = sorted(row["properties"])
        assert {name: row[name] for name in one} == one


def test_queue_by_queue(golden: GoldenStore) -> None:
    columns = ("topic", "queueId", "queueOffset")
    rows = rows_of(scan(golden.root, columns=columns, by_queue=True))
    found = scan_queues(StoreView(golden.root), Selection())
    places = [(one.record.topic, one.record.queue_id, one.queue_offset) for one in found if isinstance(one, Found)]
    assert sorted(tuple(row.values()) for row in rows) == places
    assert [tuple(row.values()) for row in rows] == places or golden.expect["abortFilePresent"]


SELECTIONS = [
    Selection(topics=frozenset({"AuditLog"})),
    Selection(topics=frozenset({"OrderEvents"}), queue_ids=frozenset({1})),
    Selection(queue_ids=frozenset({0, 2})),
    Selection(tags=frozenset({"TagA", "TagB"})),
    Selection(keys=frozenset({"BATCH0", "ORD-1002"})),
    Selection(begin_time=1794770823000, end_time=1794770824500),
    Selection(begin_offset=10, end_offset=13),
    Selection(begin_physical=70_000, end_physical=90_000),
]


@pytest.mark.parametrize("by_queue", [False, True])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_filters_select_what_the_plain_scan_selects(selection: Selection, by_queue: bool, tmp_path: Path) -> None:
    view = StoreView(unpack("clean", tmp_path).root)
    found = scan_queues(view, selection) if by_queue else scan_log(view, selection)
    want = [one.record.commit_offset for one in found if isinstance(one, Found)]
    rows = rows_of(scan(view.source, columns=("commitLogOffset",), selection=selection, by_queue=by_queue))
    assert [row["commitLogOffset"] for row in rows] == want
    assert want


def test_ranges_together_are_the_whole(golden: GoldenStore) -> None:
    fs = pytest.importorskip("pyarrow.fs")
    source = ArrowSource(fs.LocalFileSystem(), str(golden.root))
    source.window = 3000
    whole = scan(golden.root, columns=("commitLogOffset", "body")).read_all()
    how = Scan(str(golden.root), columns=("commitLogOffset", "body"))
    for remote in (None, source):
        parts = plan_splits(remote or golden.root, split_bytes=10_000)
        batches = [batch for part in parts for batch in how.read(part, source=remote)]
        assert pa.Table.from_batches(batches).to_pylist() == whole.to_pylist()


@pytest.mark.parametrize("by_queue", [False, True])
def test_damage_is_raised_or_reported(by_queue: bool, tmp_path: Path) -> None:
    golden = unpack("clean", tmp_path)
    hit = golden.expect["topics"]["AuditLog"]["0"]["messages"][5]
    log = golden.root / "commitlog" / f"{0:020}"
    data = bytearray(log.read_bytes())
    data[hit["physicalOffset"] + 100] ^= 1
    log.write_bytes(data)
    with pytest.raises(StoreCorrupt, match=r"commitlog/0{20} at"):
        scan(golden.root, by_queue=by_queue).read_all()
    damage: list[Damage] = []
    table = scan(golden.root, by_queue=by_queue, on_damage=damage.append).read_all()
    assert [(one.begin, one.end - one.begin) for one in damage] == [(hit["physicalOffset"], hit["size"])]
    assert table.num_rows == 1017
