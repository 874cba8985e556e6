from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sprocketmq.cli.offline.inspect import inspect

GOLDEN = Path(__file__).resolve().parents[3] / "data" / "golden"
NOTES = {"file", "note", "madeBy", "compressed"}


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("golden")
    for name in ("frames", "messages"):
        with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
            archive.extractall(root / name)
    return root


def run(*arguments: str | Path, stdin: bytes = b"") -> tuple[Result, list[dict[str, Any]]]:
    result = CliRunner().invoke(inspect, [str(argument) for argument in arguments], input=stdin)
    lines = result.stdout.splitlines() if "--json" in arguments else []
    return result, [json.loads(line) for line in lines]


def index(golden: Path, name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((golden / name / "index.json").read_text())
    return entries


def without_notes(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in NOTES}


def test_every_golden_frame(golden: Path) -> None:
    entries = index(golden, "frames")
    result, found = run("frame", "--json", *(golden / "frames" / entry["file"] for entry in entries))
    assert result.exit_code == 0, result.output
    assert [Path(line["file"]).name for line in found] == [entry["file"] for entry in entries]
    assert [without_notes(line) for line in found] == [without_notes(entry) for entry in entries]


def test_every_golden_message(golden: Path) -> None:
    for entry in index(golden, "messages"):
        batch = ["--batch"] if entry["kind"] == "batchBody" else []
        result, found = run("message", "--json", *batch, golden / "messages" / entry["file"])
        if None in entry["messages"]:
            assert result.exit_code == 1
            assert found[0]["offset"] == 0
            assert found[0]["error"]
            continue
        assert result.exit_code == 0, result.output
        if "blankAt" in entry:
            blank = found.pop()
            assert blank == {name: entry[name] for name in ("blankAt", "blankSize", "blankMagic")}
        shown = [
            {name: line[name] for name in message if name not in NOTES}
            for line, message in zip(found, entry["messages"], strict=True)
        ]
        assert shown == [without_notes(message) for message in entry["messages"]]


def test_frames_back_to_back_from_standard_input(golden: Path) -> None:
    data = (golden / "frames" / "send-v2-rocketmq.bin").read_bytes()
    result, found = run("frame", "--json", "-", stdin=data + data)
    assert (result.exit_code, len(found)) == (0, 2)
    assert found[0] == found[1]
    assert "file" not in found[0]
    assert run("frame", "--json", stdin=data)[1] == found[:1]


def test_damage_has_an_offset_and_a_reason_and_exit_1(golden: Path) -> None:
    data = (golden / "frames" / "send-v2-rocketmq.bin").read_bytes()
    broken = data[:4] + b"\x07" + data[5:]
    result, found = run("frame", "--json", "-", stdin=data + broken + data + data[:9])
    assert result.exit_code == 1
    assert [line.get("offset") for line in found] == [None, len(data), None, 3 * len(data)]
    assert found[1]["error"] == "serialize type 7"
    assert found[3]["error"] == "cut off: 9 bytes of a frame"
    assert run("frame", "--json", "-", stdin=b"\xff\xff\xff\xff12345678")[1] == [
        {"offset": 0, "error": "frame length -1"}
    ]
    record = (golden / "messages" / "plain.bin").read_bytes()
    assert run("message", "--json", "-", stdin=record + b"\1" * 50)[1][1] == {
        "offset": len(record),
        "error": "no record's magic",
    }


def test_the_rest_of_a_file_that_is_not_full_is_no_damage(golden: Path) -> None:
    record = (golden / "messages" / "plain.bin").read_bytes()
    result, found = run("message", "--json", "-", stdin=record + bytes(50))
    assert (result.exit_code, found[1]) == (0, {"emptyFrom": len(record), "emptySize": 50})


def test_damage_in_a_batch(golden: Path) -> None:
    data = (golden / "messages" / "batch-3.bin").read_bytes()
    result, found = run("message", "--batch", "--json", "-", stdin=data[:-1])
    assert (result.exit_code, len(found)) == (1, 3)
    assert found[2]["offset"] > 0


def test_the_readable_form(golden: Path) -> None:
    result, _ = run("frame", golden / "frames" / "send-v2-rocketmq.bin")
    assert "code: 310" in result.stdout
    assert "b = TopicTest" in result.stdout
    assert "\x01" not in result.stdout
    assert run("message", golden / "messages" / "truncated.bin")[0].exit_code == 1


def test_a_crc_that_differs_is_shown(golden: Path) -> None:
    assert run("message", "--json", golden / "messages" / "bad-crc.bin")[1][0]["crcMatches"] is False
    assert run("message", "--json", golden / "messages" / "plain.bin")[1][0]["crcMatches"] is True
