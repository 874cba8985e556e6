"""SQL92 answers as RocketMQ's own classes gave them, and the bounds that are ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.errors import EvaluateError, FilterError
from sprocketmq.filter.sql import MAX_LENGTH, compile_sql
from sprocketmq.filter.sql_compile import MAX_DEPTH

DATA = Path(__file__).resolve().parents[2] / "data"


def answer(expression: str, properties: dict[str, str]) -> tuple[str, bool | None]:
    try:
        compiled = compile_sql(expression)
    except FilterError:
        return "compileError", None
    try:
        return "ok", compiled.evaluate(properties)
    except EvaluateError:
        return "evaluateError", None


@pytest.mark.parametrize("name", ["golden/sql92.json", "sql92-more.json"])
def test_every_recorded_answer(name: str) -> None:
    cases: list[dict[str, Any]] = json.loads((DATA / name).read_text(encoding="utf-8"))
    wrong = [case for case in cases if answer(case["expr"], case["properties"]) != (case["outcome"], case["result"])]
    assert len(cases) > 400
    assert wrong == []


def test_a_broker_takes_unknown_and_error_for_no_match() -> None:
    over_five = compile_sql("a > 5")
    assert over_five.matches({"a": "6"})
    assert not over_five.matches({"a": "5"})
    assert not over_five.matches({})
    assert not over_five.matches({"a": "six"})


def test_an_error_behind_the_deciding_operand_never_shows() -> None:
    assert compile_sql("b = 'x' OR a > 5").evaluate({"a": "six", "b": "x"}) is True
    assert compile_sql("b = 'y' AND a > 5").evaluate({"a": "six", "b": "x"}) is False
    with pytest.raises(EvaluateError, match="'six' is not an integer"):
        compile_sql("a > 5 OR b = 'x'").evaluate({"a": "six", "b": "x"})


def test_a_long_chain_is_one_level() -> None:
    chain = compile_sql(" OR ".join(f"a = {number}" for number in range(1000)))
    assert chain.evaluate({"a": "999"}) is True
    assert chain.evaluate({"a": "1000"}) is False


@pytest.mark.parametrize(
    ("text", "most"),
    [(lambda n: " OR ".join(["a > 1"] * n), 1024), (lambda n: f"a IN ({','.join([repr('b')] * n)})", 6138)],
)
def test_an_expression_has_so_many_words(text: Callable[[int], str], most: int) -> None:
    compile_sql(text(most))
    with pytest.raises(FilterError, match="more than 4096 words"):
        compile_sql(text(most + 1))


def test_an_operand_is_evaluated_once_at_each_level() -> None:
    class Counted(dict[str, str]):
        looks = 0

        def get(self, *key: str) -> str:  # type: ignore[override]
            self.looks += 1
            return "1"

    properties = Counted()
    nested = "-(" * 20 + "a = 1" + " ) BETWEEN 1 AND 2" * 20
    assert compile_sql(nested).evaluate(properties) is None
    assert properties.looks == 1


def test_length_is_bounded() -> None:
    assert compile_sql("a = 1".ljust(MAX_LENGTH)).evaluate({"a": "1"}) is True
    with pytest.raises(FilterError, match="characters"):
        compile_sql("a = 1".ljust(MAX_LENGTH + 1))


def test_depth_is_bounded() -> None:
    def nested(levels: int) -> str:
        return "(b = 1 OR a = 1 AND " * levels + "a = 1" + ")" * levels

    assert compile_sql(nested(MAX_DEPTH // 2 - 1)).evaluate({"a": "1", "b": "2"}) is True
    with pytest.raises(FilterError, match="nested"):
        compile_sql(nested(MAX_DEPTH // 2 + 1))


@pytest.mark.parametrize(
    "bomb",
    [
        "(" * 30_000 + "a = 1" + ")" * 30_000,
        "(" * 60_000,
        "NOT " * 16_000 + "a",
        "a = " + "-" * 60_000 + "1",
        "(a = 1)" + " = TRUE" * 9_000,
        "(a = 1 OR " * 6_000 + "a = 2" + ")" * 6_000,
        "a = '" + "x" * 60_000,
        "a = '" + "''" * 30_000,
        "/*" * 30_000,
        "a = " + "1" * 60_000,
    ],
)
def test_bombs_are_refused(bomb: str) -> None:
    with pytest.raises(FilterError):
        compile_sql(bomb)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a = #", "unexpected character '#' at 4"),
        ("a = = 1", "unexpected '=' at 4"),
        ("a =", "not complete"),
        ("a = NULL", "IS NULL"),
        ("a > 'x'", "only numbers and properties"),
        ("a BETWEEN 7 AND 3", "out of order"),
        ("1 IN ('1')", "IN takes a property"),
        ("a = 1 AND 5", "a test was expected, not a constant"),
        ("a = 9223372036854775808", "64-bit"),
        ("a = 0.0", "no positive double"),
    ],
)
def test_the_reason_is_named(expression: str, reason: str) -> None:
    with pytest.raises(FilterError) as refused:
        compile_sql(expression)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
