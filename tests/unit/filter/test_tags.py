"""Tag expressions as RocketMQ's client parses them and its broker applies them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis.strategies import text as strings

from sprocketmq.errors import FilterError
from sprocketmq.filter.sql import MAX_LENGTH
from sprocketmq.filter.tags import parse_tags
from sprocketmq.protocol.record.hashing import string_hash

HASHES = Path(__file__).resolve().parents[2] / "data" / "golden" / "hashes.json"


def test_every_recorded_subscription() -> None:
    for case in json.loads(HASHES.read_text(encoding="utf-8"))["tagSubscriptions"]:
        parsed = parse_tags(case["expression"])
        assert parsed.text == case["subString"]
        assert parsed.tags == set(case["tagsSet"])
        assert parsed.codes == set(case["codeSet"])


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a||", {"a"}),
        ("||a", {"a"}),
        ("a |||| b", {"a", "b"}),
        ("|||", {"|"}),
        ("* || b", {"*", "b"}),
        (" * ", {"*"}),
        ("a\t||\nb", {"a", "b"}),
        ("\u3000x", {"\u3000x"}),
        (" ", set()),
        ("|| ||", set()),
        ("a|", {"a|"}),
        ("a |||", {"a", "|"}),
        ("|a b|||| |c", {"|a b", "|c"}),
        (" \U0001f600 || x", {"\U0001f600", "x"}),
    ],
)
def test_edges_of_the_syntax(text: str, tags: set[str]) -> None:
    parsed = parse_tags(text)
    assert parsed.tags == tags
    assert parsed.codes == set(map(string_hash, tags))


@given(strings(alphabet="ab| \t\U0001f600", min_size=1))
def test_each_tag_has_its_code(text: str) -> None:
    assume(text.replace("||", ""))
    parsed = parse_tags(text)
    assert parsed.codes == set(map(string_hash, parsed.tags))


@pytest.mark.parametrize("text", ["||", "||||"])
def test_separators_alone_are_refused(text: str) -> None:
    with pytest.raises(FilterError):
        parse_tags(text)


@pytest.mark.parametrize("text", [None, "", "*"])
def test_all(text: str | None) -> None:
    everything = parse_tags(text)
    assert everything.text == "*"
    assert everything.codes == set()
    assert everything.matches_tag(None)


def test_codes_collide_and_tags_do_not() -> None:
    only_aa = parse_tags("Aa")
    assert string_hash("BB") in only_aa.codes
    assert not only_aa.matches_tag("BB")
    assert only_aa.matches_tag("Aa")
    assert not only_aa.matches_tag(None)


def test_blanks_match_no_code() -> None:
    blanks = parse_tags(" ")
    assert (blanks.text, blanks.codes) == (" ", frozenset())


def test_length_is_bounded_as_for_sql92() -> None:
    assert parse_tags("x" * MAX_LENGTH).tags
    with pytest.raises(FilterError, match="65537 characters"):
        parse_tags("x" * (MAX_LENGTH + 1))
