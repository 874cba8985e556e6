from __future__ import annotations

import pytest
from tests.unit.protocol import golden

from sprocketmq.protocol.record.hashing import index_key_hash, string_hash, tags_code, utf8_hash

STRINGS = golden.hashes()["javaStringHashCode"]
INDEX_KEYS = [case for case in golden.hashes()["indexKeyHash"]["cases"] if "#" in case["indexKey"]]


@pytest.mark.parametrize("case", STRINGS, ids=range(len(STRINGS)))
def test_java_string_hash(case: dict[str, str | int]) -> None:
    text = str(case["string"])
    assert string_hash(text) == case["hashCode"]
    assert utf8_hash(text.encode()) == case["hashCode"]
    assert tags_code(text) == case["tagsCodeLong"]


@pytest.mark.parametrize("case", INDEX_KEYS, ids=range(len(INDEX_KEYS)))
def test_index_key_hash(case: dict[str, str | int]) -> None:
    topic, _separator, key = str(case["indexKey"]).partition("#")
    value = index_key_hash(topic, key)
    assert value == case["hash"]
    assert (value % 50, value % 5_000_000) == (case["slot50"], case["slot5000000"])


def test_no_tag_is_zero() -> None:
    assert tags_code(None) == tags_code("") == utf8_hash(b"") == 0


def test_the_smallest_hash_has_no_positive_twin() -> None:
    assert string_hash("polygenelubricants") == string_hash("a#lh38agyp") == -0x8000_0000
    assert index_key_hash("a", "lh38agyp") == 0
    assert index_key_hash("a", "\U0001f600") == abs(string_hash("a#\U0001f600"))


def test_broken_utf8_counts_as_the_replacement_character() -> None:
    assert utf8_hash(b"a\xffb") == string_hash("a\ufffdb")
