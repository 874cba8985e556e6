from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace

import pytest
from tests.unit.broker.support import wants

from sprocketmq.broker.tables.subscriptions import (
    SQL92,
    TAG,
    FilterCache,
    PropertyRule,
    matches,
    subscription_of,
    wanted_by,
)
from sprocketmq.errors import FilterError
from sprocketmq.filter.sql import MAX_LENGTH
from sprocketmq.protocol.record.hashing import string_hash

MIB = 1 << 20


def test_equal_expressions_share_one_filter() -> None:
    assert wanted_by(TAG, "A || B") is wanted_by(TAG, "A || B")
    assert wanted_by(TAG, "*") is None
    rule = wanted_by(SQL92, "a = 1")
    assert isinstance(rule, PropertyRule)
    assert wanted_by(SQL92, "a = 1") is rule


def test_filters_are_kept_as_far_as_they_fit() -> None:
    cache = FilterCache(MIB)
    texts = [" || ".join(f"{number}-{tag}" for tag in range(1000)) for number in range(40)]
    for text in texts:
        cache.find(TAG, text)
        cache.find(TAG, texts[0])  # asked for again and again
        assert cache.size <= MIB
    assert 1 < len(cache) < 10
    first = cache.find(TAG, texts[0])
    assert cache.find(TAG, texts[0]) is first
    assert cache.find(TAG, texts[-1]) is cache.find(TAG, texts[-1])


def test_one_filter_that_does_not_fit_is_not_kept() -> None:
    cache = FilterCache(1000)
    assert cache.find(TAG, "x" * 2000) is not None
    assert (len(cache), cache.size) == (0, 0)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TAG, "{}||" + "||".join(f"t{tag}" for tag in range(500))),
        (SQL92, "a = '{}' OR " + " OR ".join(["b > 3"] * 20)),
    ],
)
def test_what_the_cache_reckons_is_what_it_takes(kind: str, text: str) -> None:
    wanted_by(SQL92, "a = 1")  # the parser is loaded
    cache = FilterCache(4 * MIB)
    tracemalloc.start()
    for number in range(20):
        cache.find(kind, text.format(number))
    gc.collect()
    taken, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 1.5 * cache.size


@pytest.mark.parametrize("codes", [(), (1,)], ids=["its text alone", "with codes of its own"])
def test_a_heartbeat_may_not_bring_a_longer_expression_than_a_pull(codes: tuple[int, ...]) -> None:
    with pytest.raises(FilterError):
        subscription_of(replace(wants(text="x" * (MAX_LENGTH + 1)), code_set=frozenset(codes)))


def test_the_low_32_bits_of_a_code_count() -> None:
    """A ConsumeQueue entry has room for 64."""
    code, wanted = string_hash("single  tag"), wanted_by(TAG, "single  tag")
    assert matches(wanted, code, b"")
    assert matches(wanted, code + 2**32, b"")
    assert matches(wanted, code & 0xFFFF_FFFF, b"")
    assert not matches(wanted, code + 1, b"")
