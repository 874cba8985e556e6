from __future__ import annotations

from typing import Any

import pytest
from tests.unit.protocol import golden

from sprocketmq.protocol.record.properties import (
    SYSTEM_PROPERTIES,
    decode_properties,
    encode_properties,
    find_property,
)

CASES = golden.hashes()["propertyStrings"]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_golden_property_strings(case: dict[str, Any]) -> None:
    text, expected = case["propertiesString"], case["decoded"]
    assert decode_properties(text) == expected
    assert decode_properties(text.encode()) == expected
    assert {name: find_property(text.encode(), name.encode()) for name in expected} == {
        name: value.encode() for name, value in expected.items()
    }


def test_text_ends_with_its_separator() -> None:
    assert encode_properties({"a": "b", "c": "d"}) == "a\x01b\x02c\x01d\x02"
    assert encode_properties({}) == ""


def test_find_takes_whole_names_only() -> None:
    text = b"KEYS2\x01no\x02XKEYS\x01no\x02KEYS\x01yes\x02KEYSX\x01no"
    assert find_property(text, b"KEYS") == b"yes"
    assert find_property(text, b"KEY") is None
    assert find_property(b"KEYS\x01\x02", b"KEYS") is None
    assert find_property(b"", b"KEYS") is None


def test_broken_utf8_becomes_the_replacement_character() -> None:
    assert decode_properties(b"a\x01\xff\x02b\x01c") == {"a": "\ufffd", "b": "c"}


def test_names_that_users_may_not_take() -> None:
    for name in ("KEYS", "TAGS", "UNIQ_KEY", "__transactionId__", "1ST_POP_TIME", "__CRC32#", "TIMER_DELIVER_MS"):
        assert name in SYSTEM_PROPERTIES
    assert "amount" not in SYSTEM_PROPERTIES
    assert len(SYSTEM_PROPERTIES) == 61
