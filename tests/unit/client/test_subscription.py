from __future__ import annotations

from typing import Any

import pytest
from tests.unit.client.fakes import stored

from sprocketmq.client.received import split_records
from sprocketmq.client.subscription import Subscription
from sprocketmq.protocol.record.hashing import string_hash


@pytest.mark.parametrize(
    ("expression", "tags"),
    [("*", set()), ("", set()), ("a", {"a"}), ("a || b", {"a", "b"}), (" a||b || ", {"a", "b"})],
)
def test_tags(expression: str, tags: set[str]) -> None:
    subscription = Subscription.of("T", expression)
    assert subscription.tags == tags
    assert subscription.data().code_set == {string_hash(tag) for tag in tags}


def test_sql_has_no_tags() -> None:
    data = Subscription.of("T", sql="a > 1").data()
    assert (data.expression_type, data.sub_string, data.tags_set) == ("SQL92", "a > 1", frozenset())
    with pytest.raises(ValueError, match="not by both"):
        Subscription.of("T", "a", "b > 1")


def test_selection_is_exact() -> None:
    assert string_hash("Aa") == string_hash("BB")
    data = stored(b"1", 0, properties=b"TAGS\x01Aa\x02") + stored(b"2", 1, properties=b"TAGS\x01BB\x02")
    found = Subscription.of("T", "BB").select(split_records(data, "b"))
    assert [message.body for message in found] == [b"2"]


@pytest.mark.parametrize("wrong", [None, 5, b"a", ["a", "b"]])
def test_what_is_no_text_is_named(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"tags must be a str, not .*; several are joined by"):
        Subscription.of("T", wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match="sql must be a str"):
            Subscription.of("T", sql=wrong)


def test_tags_without_a_tag() -> None:
    with pytest.raises(ValueError, match="there is no tag in it"):
        Subscription.of("T", " || ")
