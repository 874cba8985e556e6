"""One interface to both kinds of subscription."""

from __future__ import annotations

import pytest

from sprocketmq.errors import FilterError
from sprocketmq.filter.bloom import BloomFilter, set_bits
from sprocketmq.filter.expression import MessageFilter, filter_of
from sprocketmq.protocol.record.properties import encode_properties


@pytest.mark.parametrize("expression_type", [None, "", "TAG"])
def test_tags(expression_type: str | None) -> None:
    wanted = filter_of(expression_type, "Aa || b")
    assert wanted.match_bits(None, 0)
    assert wanted.match_properties({"TAGS": "Aa"})
    assert not wanted.match_properties({"TAGS": "BB"})
    assert not wanted.match_properties({})


def test_sql_over_decoded_and_raw_properties() -> None:
    wanted = filter_of("SQL92", "price > 100 AND region IN ('eu')")
    assert_matches(wanted, {"price": "101", "region": "eu"}, True)
    assert_matches(wanted, {"price": "99", "region": "eu"}, False)
    assert_matches(wanted, {"price": "much", "region": "eu"}, False)
    assert_matches(wanted, {}, False)


def assert_matches(wanted: MessageFilter, properties: dict[str, str], expected: bool) -> None:
    raw = encode_properties(properties).encode()
    assert wanted.match_properties(properties) is expected
    assert wanted.match_properties(raw) is expected
    assert wanted.match_properties(memoryview(raw)) is expected


def test_raw_properties_that_are_no_utf8() -> None:
    assert filter_of("SQL92", "a = 'x'").match_properties(b"b\x01\xff\xfe\x02a\x01x\x02")


def test_bits_decide_only_for_messages_after_the_subscription() -> None:
    bloom = BloomFilter()
    data = bloom.data("group", "topic")
    wanted = filter_of("SQL92", "a = 1", bloom=data, born_timestamp=1000)
    bits = bloom.empty_map()
    assert wanted.match_bits(bytes(bits), 1000)
    assert not wanted.match_bits(bytes(bits), 1001)
    set_bits(bits, data.positions)
    assert wanted.match_bits(bytes(bits), 1001)


def test_bits_that_say_nothing() -> None:
    data = BloomFilter().data("group", "topic")
    assert filter_of("SQL92", "a = 1").match_bits(bytes(14), 1)
    assert filter_of("SQL92", "a = 1", bloom=data).match_bits(None, 1)
    assert filter_of("SQL92", "a = 1", bloom=data).match_bits(bytes(8), 1)


def test_what_is_refused() -> None:
    for expression_type, text in [("SQL92", ""), ("SQL92", None), ("SQL92", "a ="), ("XPATH", "a"), ("TAG", "||")]:
        with pytest.raises(FilterError):
            filter_of(expression_type, text)
