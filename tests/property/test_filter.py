"""Whatever the text, a filter answers or raises FilterError; the answers obey three-valued logic."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.errors import EvaluateError, FilterError
from sprocketmq.filter.bloom import BloomFilter, has_bits, set_bits
from sprocketmq.filter.expression import filter_of
from sprocketmq.filter.sql import compile_sql
from sprocketmq.filter.tags import parse_tags
from sprocketmq.protocol.record.hashing import string_hash

WORDS = """a b = <> < <= > >= ( ) , NOT AND OR IS NULL IN BETWEEN CONTAINS STARTSWITH ENDSWITH TRUE FALSE
'x' '' 'it''s' 0 1 10L 1.5 1e3 1e400 - + -- /* */ # '"""
PIECES = st.sampled_from([*WORDS.split(), "\n"])
PROPERTIES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.one_of(st.sampled_from(["1", "x", "1.5", "NaN", "true", ""]), st.text())
)
COMPARISONS = st.sampled_from(
    ["a = 1", "b <> 'x'", "a > 1.5", "b BETWEEN 0 AND 2", "a IN ('x', '1')", "a IS NULL", "b CONTAINS 'x'", "c", "NULL"]
)
TESTS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        inner.map("NOT ({})".format), st.builds("({}) AND ({})".format, inner, inner),
        st.builds("({}) OR ({})".format, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip
TAGS = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs"]), min_size=1).filter(
    lambda tag: tag.strip("".join(map(chr, range(0x21)))) == tag and tag != "*"
)


def answer(expression: str, properties: dict[str, str]) -> bool | str | None:
    try:
        return compile_sql(expression).evaluate(properties)
    except EvaluateError:
        return "error"


@given(st.one_of(st.lists(PIECES, max_size=12).map(" ".join), st.text(max_size=30)), PROPERTIES)
def test_any_text_answers_or_is_refused(text: str, properties: dict[str, str]) -> None:
    with suppress(FilterError):
        assert answer(text, properties) in (True, False, None, "error")


@given(TESTS, PROPERTIES)
def test_logic_is_three_valued(test: str, properties: dict[str, str]) -> None:
    plain = answer(test, properties)
    opposite = plain if plain in (None, "error") else not plain
    assert answer(f"NOT ({test})", properties) == opposite
    assert answer(f"NOT (NOT ({test}))", properties) == plain
    assert answer(f"TRUE AND ({test})", properties) == plain
    assert answer(f"FALSE OR ({test})", properties) == plain
    assert answer(f"TRUE OR ({test})", properties) is True
    assert answer(f"FALSE AND ({test})", properties) is False
    assert answer(f"({test}) IS NULL", properties) == ("error" if plain == "error" else plain is None)


@given(TESTS, TESTS, PROPERTIES)
def test_de_morgan(one: str, other: str, properties: dict[str, str]) -> None:
    joined = answer(f"NOT (({one}) AND ({other}))", properties)
    assert answer(f"NOT ({one}) OR NOT ({other})", properties) == joined


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_literals_round_trip(text: str) -> None:
    quoted = text.replace("'", "''")
    assert compile_sql(f"a = '{quoted}'").evaluate({"a": text}) is True
    assert compile_sql(f"a IN ('{quoted}')").evaluate({"a": text}) is True


@given(st.integers(0, 2**63 - 1), st.sampled_from(["", "-"]))
def test_integer_literals_round_trip(number: int, sign: str) -> None:
    assert compile_sql(f"a = {sign}{number}").evaluate({"a": f"{sign}{number}"}) is True


@given(st.floats(min_value=5e-324, allow_infinity=False), st.sampled_from(["", "-"]))
def test_double_literals_round_trip(number: float, sign: str) -> None:
    text = repr(number)
    assert compile_sql(f"a = {sign}{text}").evaluate({"a": sign + text}) is True


@given(st.lists(TAGS, min_size=1))
def test_tags_round_trip(tags: list[str]) -> None:
    parsed = parse_tags(" || ".join(tags))
    assert parsed.tags == set(tags)
    assert all(string_hash(tag) in parsed.codes and parsed.matches_tag(tag) for tag in tags)


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1), st.integers(1, 99), st.integers(1, 200))
def test_bloom_bits_have_no_false_misses(pairs: list[tuple[str, str]], error_percent: int, expected: int) -> None:
    bloom = BloomFilter(error_percent, expected)
    bits = bloom.empty_map()
    for group, topic in pairs:
        set_bits(bits, bloom.data(group, topic).positions)
    assert all(has_bits(bits, bloom.data(group, topic).positions) for group, topic in pairs)


@given(st.binary(max_size=60))
def test_any_property_bytes_are_filtered(raw: bytes) -> None:
    assert filter_of("SQL92", "a = 1 OR a IS NULL").match_properties(raw) in (True, False)
