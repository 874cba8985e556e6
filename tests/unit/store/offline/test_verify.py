from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.stores import unpack

from sprocketmq.protocol.record.record import Record
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.checkpoint import PLACES_AT, decode_checkpoint
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.offline.verify_findings import Finding, Severity
from sprocketmq.store.queue.ext_format import is_ext_address
from sprocketmq.store.store import MessageStore
from sprocketmq.store.view import StoreView


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("clean", tmp_path).root


def errors(root: Path) -> list[Finding]:
    return [finding for finding in verify(StoreView(root)) if finding.severity is Severity.ERROR]


def change(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def vouch_for(root: Path, flushed_offset: int) -> None:
    path = root / "checkpoint"
    checkpoint = decode_checkpoint(path.read_bytes())
    path.write_bytes(replace(checkpoint, flushed_offset=flushed_offset).encode())


LOG = f"commitlog/{65536:020}"
QUEUE = f"consumequeue/AuditLog/0/{4000:020}"
INDEX = "index/20261115192704740"
CASES: dict[str, tuple[Callable[[Path], object], str, int]] = {
    "a flipped body": (lambda root: change(root / LOG, 200, b"\xff"), LOG, 0),
    "a queue entry elsewhere": (lambda root: change(root / QUEUE, 40, b"\0\0\0\1"), QUEUE, 40),
    "a queue entry of another size": (lambda root: change(root / QUEUE, 68, b"\0\0\0\1"), QUEUE, 60),
    "a queue entry of another tag": (lambda root: change(root / QUEUE, 99, b"\xee"), QUEUE, 80),
    "an erased queue entry": (lambda root: change(root / QUEUE, 100, bytes(20)), QUEUE, 100),
    "an index entry of another hash": (lambda root: change(root / INDEX, 240 + 20, b"\1\2\3\4"), INDEX, 260),
    "an index entry elsewhere": (lambda root: change(root / INDEX, 240 + 20 + 4, b"\0\0\0\0\0\0\0\1"), INDEX, 260),
    "an index entry of another time": (lambda root: change(root / INDEX, 240 + 40 + 12, b"\0\1"), INDEX, 280),
    "a broken chain": (lambda root: change(root / INDEX, 240 + 20 * 199 + 16, b"\0\0\0\7"), INDEX, 240 + 20 * 199),
    "a slot that names another entry": (lambda root: change(root / INDEX, 40, b"\0\0\0\1"), INDEX, 40),
    "a header that counts wrongly": (lambda root: change(root / INDEX, 32, b"\0\0\0\1"), INDEX, 32),
    "a checkpoint of the future": (lambda root: change(root / "checkpoint", 8, b"\x7f"), "checkpoint", 8),
    "a checkpoint with no time": (lambda root: change(root / "checkpoint", 16, b"\x80"), "checkpoint", 16),
    "a checkpoint ahead of the log": (lambda root: vouch_for(root, 1 << 40), "checkpoint", PLACES_AT),
    "a short checkpoint": (lambda root: (root / "checkpoint").write_bytes(b"abc"), "checkpoint", 0),
    "no checkpoint": (lambda root: (root / "checkpoint").unlink(), "checkpoint", 0),
    "a short log file": (lambda root: (root / LOG).write_bytes((root / LOG).read_bytes()[:1000]), LOG, 1000),
    "a missing log file": (lambda root: (root / LOG).unlink(), f"commitlog/{131072:020}", 0),
    "a short queue file": (lambda root: (root / QUEUE).write_bytes((root / QUEUE).read_bytes()[:50]), QUEUE, 50),
    "a missing queue file": (lambda root: (root / QUEUE).unlink(), QUEUE, 0),
    "a torn table": (lambda root: [path.write_bytes(b"{") for path in (root / "config").glob("consumerOff*")],
                     "config/consumerOffset.json", 0),
    "an offset beyond its queue": (
        lambda root: (root / "config/consumerOffset.json").write_bytes(b'{"offsetTable":{"AuditLog@G":{0:413}}}'),
        "config/consumerOffset.json", 0,
    ),
    "a topic that is forgotten": (lambda root: (root / "config/topics.json").write_bytes(b'{"topicConfigTable":{}}'),
                                  "config/topics.json", 0),
}  # fmt: skip


def test_a_whole_store_has_no_findings(root: Path) -> None:
    assert list(verify(StoreView(root))) == []


@pytest.mark.parametrize("case", CASES)
def test_damage_is_found_where_it_is(case: str, root: Path) -> None:
    damage, file, offset = CASES[case]
    damage(root)
    assert (file, offset) in [(finding.file, finding.offset) for finding in errors(root)]


def test_what_a_crash_leaves_is_recoverable(tmp_path: Path) -> None:
    root = unpack("killed", tmp_path).root
    change(root / f"consumequeue/OrderEvents/1/{0:020}", 100 * 20, bytes(20))
    change(root / f"commitlog/{327680:020}", 380397 - 327680 + 200, bytes(200))
    findings = list(verify(StoreView(root)))
    assert {finding.severity for finding in findings} == {Severity.RECOVERABLE}
    assert (f"commitlog/{327680:020}", 380397 - 327680) in [(one.file, one.offset) for one in findings]


def test_a_broker_that_has_just_begun_has_no_checkpoint_yet(tmp_path: Path) -> None:
    """Whoever verifies a new broker in its first minute is not told of an error."""
    store = MessageStore.open(
        StoreConfig(store_path_root_dir=str(tmp_path), mapped_file_size_commit_log=65536), background=False
    )
    store.put_record(Record(topic="New", body=b"one"))
    assert (tmp_path / "abort").exists()
    assert not (tmp_path / "checkpoint").exists()
    found = list(verify(StoreView(tmp_path)))
    store.close()
    assert found == []


def test_records_of_a_deleted_topic_are_no_finding(root: Path) -> None:
    """They stay in the log until their file expires."""
    shutil.rmtree(root / "consumequeue" / "Inventory")
    for table in (root / "config").glob("*.json*"):
        table.write_bytes(table.read_bytes().replace(b"Inventory", b"Forgotten"))
    assert [one for one in errors(root) if "Inventory" in one.what or "Inventory" in one.file] == []


def test_entries_that_name_a_unit_of_consume_queue_ext(tmp_path: Path) -> None:
    store = MessageStore.open(
        StoreConfig(
            store_path_root_dir=str(tmp_path), enable_consume_queue_ext=True, mapped_file_size_commit_log=65536,
            mapped_file_size_consume_queue=2000, max_hash_slot_num=10, max_index_num=500,
        ),
        background=False,
    )  # fmt: skip
    for number in range(40):
        store.put_record(Record(topic="Ext", body=b"%d" % number, properties=b"TAGS\x01T%d\x02" % number))
    store.close()
    view = StoreView(tmp_path)
    assert is_ext_address(view.queue("Ext", 0).entry(0).tags_code)
    assert list(verify(view)) == []
    file = next((tmp_path / "consumequeue_ext" / "Ext" / "0").iterdir())
    change(file, 2, b"\7\7\7\7\7\7\7\7")
    assert [finding.offset for finding in errors(tmp_path)] == [0]


def test_a_log_that_ends_with_a_full_file_is_whole(root: Path) -> None:
    """The next file was begun and lost with all that was in it, as under ASYNC_FLUSH it may."""
    view = StoreView(root)
    end = view.log_end % view.log.file_size
    last = root / view.log.files[-1].path
    change(last, end, (view.log.file_size - end).to_bytes(4, "big") + b"\xcb\xd4\x31\x94")
    vouch_for(root, view.log.files[-1].end)  # the blank was safe too
    assert list(verify(StoreView(root))) == []
