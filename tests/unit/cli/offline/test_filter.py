"""`sprocket filter`, as a process: answers, exit codes, one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[3] / "data" / "golden" / "sql92.json"


def sprocket_filter(*arguments: str, lines: str = "") -> tuple[int, str, str]:
    command = [sys.executable, "-m", "sprocketmq", "filter", *arguments]
    run = subprocess.run(command, input=lines.encode(), capture_output=True, check=False)
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def test_the_three_answers() -> None:
    assert sprocket_filter("a > 5", "--properties", '{"a": "6"}') == (0, "true\n", "")
    assert sprocket_filter("a > 5", "--properties", '{"a": 5}') == (0, "false\n", "")
    assert sprocket_filter("a > 5") == (0, "unknown\n", "")


def test_what_is_behind_the_end_is_told() -> None:
    """RocketMQ takes it without a word, and so do our brokers."""
    said = "the expression ends before 'b > 2', which is not looked at (as in RocketMQ)\n"
    assert sprocket_filter("a = 1 b > 2", "--properties", '{"a": 1}') == (0, "true\n", said)


def test_what_is_wrong_is_one_line() -> None:
    assert sprocket_filter("a >") == (2, "", "sprocket: SQL92: the expression is not complete\n")
    assert sprocket_filter("a > 5", "--properties", '{"a": "x"}') == (1, "", "sprocket: 'x' is not an integer\n")
    for properties in ("{", "[]", '{"a": []}'):
        code, out, error = sprocket_filter("a > 5", "--properties", properties)
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert error.startswith("sprocket: --properties: ")


def test_json_lines_answer_as_the_golden_data() -> None:
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))
    lines = "".join(json.dumps({"expr": case["expr"], "properties": case["properties"]}) + "\n" for case in cases)
    code, out, error = sprocket_filter("-", lines=lines)
    assert (code, error) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    assert answers == [{key: case[key] for key in ("outcome", "result", "matched")} for case in cases]


def test_a_bad_line_is_named() -> None:
    good = '{"expr": "a = 1", "properties": {"a": "1"}}\n'
    for bad in (
        "nonsense",
        "[]",
        '{"expr": 5}',
        '{"expr": "a", "properties": []}',
        '{"expr": "a", "properties": {"a": {}}}',
    ):
        code, out, error = sprocket_filter("-", lines=good + "\n" + bad + "\n" + good)
        assert (code, len(out.splitlines()), error.count("\n")) == (2, 1, 1)
        assert error.startswith("sprocket: line 3: ")


def test_properties_do_not_go_with_lines() -> None:
    assert sprocket_filter("-", "--properties", "{}")[0] == 2
