from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sprocketmq.cli.output.tables import cell, echo_json, figures, moment, number, show

ROWS = [{"offset_id": "7F" * 16, "address": "10.0.0.1:10911", "queues": 4, "stored_at": moment(1_700_000_000_123)}]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, rows: list[dict[str, Any]] = ROWS) -> str:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout", terminal)
    show(rows, False)
    return terminal.getvalue()


def test_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, True)
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {
        "offset_id": "7F" * 16, "address": "10.0.0.1:10911", "queues": 4, "stored_at": "2023-11-14T22:13:20.123Z",
    }  # fmt: skip
    echo_json({"set": {2, 1}, "when": datetime(2026, 1, 1, tzinfo=UTC)})
    assert json.loads(capsys.readouterr().out) == {"set": [1, 2], "when": "2026-01-01T00:00:00.000Z"}


def test_a_wide_terminal_gets_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, row = on_terminal(monkeypatch, 120).splitlines()
    assert head.split("   ")[0] == "offset id"
    assert "7F" * 16 in row


def test_a_table_is_set_closer_before_it_falls_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `sprocket group lag` shows fits the eighty columns of a usual terminal."""
    lag = {"topic": "%RETRY%billing", "broker": "broker-a", "queue": 0, "broker_offset": 10, "consumer_offset": 10}
    lines = on_terminal(monkeypatch, 80, [{**lag, "lag": 0, "last_consumed": moment(1_700_000_000_123)}]).splitlines()
    assert [line.split() for line in lines[:2]] == [
        ["topic", "broker", "queue", "broker", "consumer", "lag", "last"], ["offset", "offset", "consumed"],
    ]  # fmt: skip
    assert lines[3].startswith("%RETRY%billing  broker-a  0      10      10        0    20")
    assert max(map(len, lines)) <= 80


def test_a_narrow_terminal_gets_records_and_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = on_terminal(monkeypatch, 60).splitlines()
    assert f"offset id  {'7F' * 16}" in lines
    assert "address    10.0.0.1:10911" in lines


def test_cells() -> None:
    assert [cell(value) for value in (None, True, 1.25, [], ["a", 1], {"k": "v"})] == [
        "-",
        "yes",
        "1.2",
        "-",
        "a, 1",
        "k=v",
    ]
    assert [number(text) for text in ("1", "0.5", "V5_3_3", "04", "true")] == [1, 0.5, "V5_3_3", "04", True]
    assert [figures(text) for text in ("0.0 1.5 2", "Total : 3", "")] == [[0.0, 1.5, 2], "Total : 3", ""]
    assert moment(0) is None
