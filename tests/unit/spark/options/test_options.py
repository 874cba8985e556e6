"""Options, and what is said of those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq.spark.options.options import OptionError, Options
from sprocketmq.spark.options.sink import COLUMNS as SINK_COLUMNS
from sprocketmq.spark.options.sink import SINK_OPTIONS
from sprocketmq.spark.options.source import SOURCE_OPTIONS
from sprocketmq.spark.schema import TYPES
from sprocketmq.spark.store_source import OPTIONS as STORE_OPTIONS

KNOWN = ("subscribe", "startingOffsets", "maxTriggerDelay", "minPartitions", "failOnDataLoss", "json", "when")


def options(**given: str) -> Options:
    return Options(given, KNOWN)


def test_names_are_the_same_in_any_case() -> None:
    assert options(STARTINGoffsets="x").text("startingOffsets") == "x"


def test_a_typo_is_found() -> None:
    with pytest.raises(OptionError, match="'startingOffset' is unknown: did you mean 'startingOffsets'"):
        options(startingOffset="latest")


def test_strange_names_belong_to_spark() -> None:
    options(path="x", mergeSchema="true")


def test_empty_is_not_given() -> None:
    assert "subscribe" not in options(subscribe=" ")
    with pytest.raises(OptionError, match="option 'subscribe' is missing: why"):
        options(subscribe="").required("subscribe", "why")


@pytest.mark.parametrize(("text", "reason"), [("x", "a whole number"), ("0", "at least 1"), ("1.5", "a whole number")])
def test_numbers(text: str, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        options(minPartitions=text).integer("minPartitions")


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("15m", 900_000), ("500", 500), ("30 seconds", 30_000), ("2h", 7_200_000), ("0ms", 0)]
)
def test_durations(text: str, milliseconds: int) -> None:
    assert options(maxTriggerDelay=text).duration_ms("maxTriggerDelay", "1s") == milliseconds


@pytest.mark.parametrize("text", ["soon", "5 fortnights", "-1s", "1.5s"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"maxTriggerDelay.*duration"):
        options(maxTriggerDelay=text).duration_ms("maxTriggerDelay", "1s")


def test_times() -> None:
    assert options(when="1700000000000").timestamp_ms("when") == 1_700_000_000_000
    assert options(when="2023-11-14T22:13:20+00:00").timestamp_ms("when") == 1_700_000_000_000
    assert options().timestamp_ms("when") is None
    with pytest.raises(OptionError, match="'when' is milliseconds or a date"):
        options(when="yesterday").timestamp_ms("when")


def test_booleans_choices_and_json() -> None:
    assert options(failOnDataLoss="FALSE").boolean("failOnDataLoss", True) is False
    with pytest.raises(OptionError, match="true or false"):
        options(failOnDataLoss="maybe").boolean("failOnDataLoss", True)
    with pytest.raises(OptionError, match="one of a, b"):
        options(json="c").choice("json", ("a", "b"), "a")
    with pytest.raises(OptionError, match="'json' is not JSON"):
        options(json="{").json("json")
    assert options(subscribe=" a, b ,,").names("subscribe") == ("a", "b")


def test_options_that_exclude_one_another() -> None:
    with pytest.raises(OptionError, match="exclude one another"):
        options(subscribe="a", json="b").exactly_one("subscribe", "json")
    with pytest.raises(OptionError, match="all missing"):
        options().exactly_one("subscribe", "json")
    with pytest.raises(OptionError, match="'json' cannot be used together with 'subscribe'"):
        options(subscribe="a", json="b").only_one_of("subscribe", "json")


def test_every_option_and_column_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "spark-options.md").read_text()
    known = {*SOURCE_OPTIONS, *SINK_OPTIONS, *STORE_OPTIONS, *TYPES, *SINK_COLUMNS}
    assert {name for name in known if f"`{name}`" not in page} == set()
