from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.stores import NAMES, GoldenStore, fingerprint, unpack

from sprocketmq.cli.main import main
from sprocketmq.cli.output.store_json import for_programs, snake, store_json


@pytest.fixture(params=NAMES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> GoldenStore:
    return unpack(request.param, tmp_path)


def sprocket(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["store", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


def lines(*words: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sprocket("scan", *words, "--json").output.splitlines()]


def test_stat_scan_and_verify_change_no_byte(golden: GoldenStore) -> None:
    before = fingerprint(golden.root)
    sprocket("stat", golden.root)
    sprocket("scan", golden.root)
    sprocket("verify", golden.root, code=1 if golden.name == "torn" else 0)
    assert fingerprint(golden.root) == before


def test_scan_prints_every_queue_entry(golden: GoldenStore) -> None:
    expected = [
        {"topic": topic, "queueId": int(queue), **message}
        for topic, queues in golden.expect["topics"].items()
        for queue, found in queues.items()
        for message in found["messages"]
    ]
    rows = lines(golden.root, "--body", "none")
    plain = json.loads(store_json({"found": expected}))["found"]
    assert sorted(rows, key=_place) == sorted(plain, key=_place)


def _place(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["queue_id"], row["queue_offset"]


def test_commit_order_also_has_what_is_in_no_queue(tmp_path: Path) -> None:
    golden = unpack("direct", tmp_path)
    rows = lines(golden.root, "--commit-order")
    offsets = [row["physical_offset"] for row in rows]
    assert offsets == sorted(offsets)
    assert (len(rows), len(lines(golden.root))) == (300, 286)


def test_filters(tmp_path: Path) -> None:
    root = unpack("clean", tmp_path).root
    every = lines(root)
    one = next(row for row in every if row["keys"] and row["tags"])

    def same(name: str) -> list[dict[str, Any]]:
        return [row for row in every if row[name] == one[name]]

    assert lines(root, "--topic", one["topic"]) == same("topic")
    assert lines(root, "--queue", one["queue_id"]) == same("queue_id")
    assert lines(root, "--tag", one["tags"]) == same("tags")
    assert one in lines(root, "--key", one["keys"])
    assert all(one["keys"] in row["keys"].split() for row in lines(root, "--key", one["keys"]))
    assert lines(root, "--key", one["uniq_key"]) == same("uniq_key")
    moment = one["store_timestamp"]
    assert lines(root, "--from-time", moment, "--to-time", moment) == same("store_timestamp")
    ranged = lines(root, "-t", "AuditLog", "-q", 0, "--from-offset", 10, "--to-offset", 13)
    assert [row["queue_offset"] for row in ranged] == [10, 11, 12]
    at = one["physical_offset"]
    assert lines(root, "--commit-order", "--from-physical", at, "--to-physical", at + 1) == [one]
    assert lines(root, "--limit", 3) == every[:3]


def test_bodies_as_text_and_as_base64(tmp_path: Path) -> None:
    root = unpack("features", tmp_path).root
    rows = lines(root)
    assert any(row["body"] is not None for row in rows)
    assert all(len(row["body"].encode()) == row["body_length"] for row in rows if row["body"] is not None)
    assert all((row["body"] is None) == ("body_base64" in row) for row in rows)
    assert {row["body"] for row in lines(root, "--body", "base64")} == {None}


def test_verify_names_file_and_offset_of_damage(tmp_path: Path) -> None:
    root = unpack("torn", tmp_path).root
    report = json.loads(sprocket("verify", root, "--json", code=1).output)
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert report["ok"] is False
    assert [(error["file"], error["offset"]) for error in errors] == [("commitlog/00000000000000327680", 51647)]


def test_rebuild_writes_what_the_broker_wrote(golden: GoldenStore) -> None:
    before = {name: digest for name, (digest, _) in fingerprint(golden.root).items()}
    sprocket("rebuild", golden.root)
    after = {name: digest for name, (digest, _) in fingerprint(golden.root).items()}
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    if golden.name == "torn":
        assert all(name.startswith(("consumequeue/", "index/")) for name in changed)
        assert len(changed) == 5
    else:
        assert changed == set()


def test_rebuild_when_queues_and_index_are_gone(tmp_path: Path) -> None:
    root = unpack("clean", tmp_path).root
    before = {name: digest for name, (digest, _) in fingerprint(root).items()}
    shutil.rmtree(root / "consumequeue")
    shutil.rmtree(root / "index")
    sizes = ["--consume-queue-file-size", 4000, "--hash-slots", 50, "--index-entries", 200]
    done = json.loads(sprocket("rebuild", root, *sizes, "--json").output)
    after = {name: digest for name, (digest, _) in fingerprint(root).items()}
    assert (done["queue_entries"], done["index_files"]) == (1018, 12)
    assert _of(after, "consumequeue/") == _of(before, "consumequeue/")
    assert list(_of(after, "index/").values()) == list(_of(before, "index/").values())


def _of(tree: dict[str, str], folder: str) -> dict[str, str]:
    return {name: digest for name, digest in tree.items() if name.startswith(folder)}


def test_rebuild_of_a_store_in_use_is_refused(tmp_path: Path) -> None:
    from sprocketmq.errors import StoreLocked
    from sprocketmq.store.files.lock import StoreLock

    root = unpack("clean", tmp_path).root
    lock = StoreLock(root / "lock")
    try:
        assert isinstance(CliRunner().invoke(main, ["store", "rebuild", str(root)]).exception, StoreLocked)
    finally:
        lock.release()


def test_a_folder_that_is_no_store_is_said_to_be_none(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["store", "stat", str(tmp_path)])
    assert "is not a store" in str(result.exception)
    sprocket("stat", tmp_path / "missing", code=2)


def test_replay_recovers_and_appends_what_was_set_aside_once(tmp_path: Path) -> None:
    golden = unpack("torn", tmp_path)
    before = lines(golden.root)
    [done] = json.loads(sprocket("replay", golden.root, "--json").output)["files"]
    assert done["records"] > 0
    assert len(lines(golden.root)) == len(before) + done["records"]
    assert "nothing is in quarantine" in sprocket("replay", golden.root).output
    sprocket("verify", golden.root)


def test_a_dry_replay_changes_no_byte(tmp_path: Path) -> None:
    golden = unpack("torn", tmp_path)
    sprocket("replay", golden.root)
    [done] = (golden.root / "quarantine").glob("*.replayed")
    done.rename(done.with_suffix(".log"))
    before = fingerprint(golden.root)
    assert "records to append" in sprocket("replay", golden.root, "--dry-run").output
    assert fingerprint(golden.root) == before


def test_rows_for_programs() -> None:
    row = {"topics": {"myTopic": {"0": {"minOffset": 1}}}, "bodyCRC": 7, "storeTimestamp": 1, "properties": {"aB": "x"}}
    assert json.loads(store_json(row)) == {
        "topics": {"myTopic": {"0": {"min_offset": 1}}}, "body_crc": 7,
        "store_timestamp": "1970-01-01T00:00:00.001Z", "properties": {"aB": "x"},
    }  # fmt: skip
    assert snake("physicMsgTimestamp") == "physic_msg_timestamp"
    assert for_programs({"bodyEncoding": "base64", "body": "AA=="}) == {"body": None, "body_base64": "AA=="}
