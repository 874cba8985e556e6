from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.errors import ConfigError
from sprocketmq.properties_file import format_properties, parse_properties


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("brokerName=broker-a\n", {"brokerName": "broker-a"}),
        ("brokerName = broker-a \r\nlistenPort:10911", {"brokerName": "broker-a", "listenPort": "10911"}),
        ("listenPort 10911", {"listenPort": "10911"}),
        ("# a comment\n! another\n\n  key=value", {"key": "value"}),
        ("namesrvAddr=10.0.0.1:9876;\\\n    10.0.0.2:9876", {"namesrvAddr": "10.0.0.1:9876;10.0.0.2:9876"}),
        ("path=C\\:\\\\data", {"path": "C:\\data"}),
        ("a\\=b=c=d", {"a=b": "c=d"}),
        ("name=\\u4e2d\\u6587", {"name": "中文"}),
        ("name=中文", {"name": "中文"}),
        ("flag", {"flag": ""}),
        ("k=1\nk=2", {"k": "2"}),
        ("ends=here\\", {"ends": "here"}),
        ("even=two\\\\\nnext=1", {"even": "two\\", "next": "1"}),
        ("", {}),
        ("=nothing", {}),
    ],
)
def test_reads_as_java_reads(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries


def test_a_broken_unicode_escape_is_named() -> None:
    with pytest.raises(ConfigError, match="uXXXX"):
        parse_properties("key=\\u12")


def test_lines_are_in_order_of_the_keys() -> None:
    assert format_properties({"b": "2", "a": "1"}) == "a=1\nb=2\n"


_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")) | st.sampled_from("\n\t=:#!\\ "), max_size=30
)


@given(st.dictionaries(_TEXT.map(str.strip).filter(bool), _TEXT.map(str.strip)))
def test_round_trip(entries: dict[str, str]) -> None:
    entries = {key: value for key, value in entries.items() if not key[0].isspace() and key.isprintable()}
    assert parse_properties(format_properties(entries)) == {k: v.strip() for k, v in entries.items()}


@given(st.text())
def test_any_text_is_entries_or_an_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse_properties(text)
