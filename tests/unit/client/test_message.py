from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sprocketmq.client.errors import InvalidMessage
from sprocketmq.client.message import Message
from sprocketmq.protocol.record.properties import decode_properties


def text(**more: Any) -> dict[str, str]:
    return decode_properties(Message("T", b"x", **more).property_text("KEY"))


def test_property_text() -> None:
    assert text() == {"UNIQ_KEY": "KEY", "WAIT": "true"}
    assert text(wait_stored=False)["WAIT"] == "false"
    made = text(tag="new", keys=["1", "2"], sharding_key="s", properties={"color": "red"})
    assert made == {
        "UNIQ_KEY": "KEY", "WAIT": "true", "TAGS": "new", "KEYS": "1 2", "__SHARDINGKEY": "s", "color": "red",
    }  # fmt: skip


def test_one_key_may_be_a_plain_text() -> None:
    assert Message("T", b"x", keys="42").keys == ("42",)


def test_delays() -> None:
    assert text(delay_level=3)["DELAY"] == "3"
    assert text(delay=timedelta(seconds=1.5))["TIMER_DELAY_MS"] == "1500"
    assert text(deliver_at=datetime(2030, 1, 1, tzinfo=UTC))["TIMER_DELIVER_MS"] == "1893456000000"


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": ""},
        {"body": b""},
        {"body": "text"},
        {"properties": {"KEYS": "1"}},
        {"properties": {"__CRC32#": "1"}},
        {"properties": {"a": ""}},
        {"properties": {"": "a"}},
        {"properties": {"a": 1}},
        {"properties": {"a\x01b": "c"}},
        {"properties": {"a": "b\x02c"}},
        {"tag": "a\x02"},
        {"keys": ["a\x01"]},
        {"sharding_key": "a\x02"},
        {"flag": 2**31},
        {"delay_level": 1, "delay": timedelta(seconds=1)},
    ],
)
def test_what_no_broker_would_take(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage):
        Message(**{"topic": "T", "body": b"x", **wrong}).validate()


def test_size_limit() -> None:
    Message("T", b"x" * 10).validate(max_body_bytes=10)
    with pytest.raises(InvalidMessage, match="1 to 10 bytes"):
        Message("T", b"x" * 11).validate(max_body_bytes=10)


def test_repr_tells_what_matters() -> None:
    assert repr(Message("orders", b"one apple", tag="new", keys=["42"])) == (
        "<Message orders tag=new keys=('42',) 9 bytes>"
    )


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"topic": 7}, "topic is str, not int"),
        ({"body": "text"}, "body is bytes or bytearray or memoryview, not str"),
        ({"tag": 5}, "tag is str"),
        ({"keys": [42]}, "each of keys is str, not int: 42"),
        ({"keys": 42}, "keys is str or Sequence"),
        ({"properties": {"a": 1}}, "property 'a' is str, not int: 1"),
        ({"properties": {1: "a"}}, "a name in properties is str"),
        ({"properties": ["a"]}, "properties is Mapping"),
        ({"sharding_key": 1}, "sharding_key is str"),
        ({"delay_level": 40}, "delay_level is 1 to 18, not 40"),
        ({"delay_level": -1}, "delay_level is 1 to 18, not -1"),
        ({"delay_level": "3"}, "delay_level is int, not str"),
        ({"delay": "5"}, "delay is timedelta or float or int, not str"),
        ({"delay": -1}, "delay is a time to wait"),
        ({"delay": float("nan")}, "delay of nan seconds"),
        ({"deliver_at": 5}, "deliver_at is datetime, not int"),
        ({"flag": "x"}, "flag is int"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_at_once(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidMessage, match=re.escape(named)):
        Message(**{"topic": "T", "body": b"x", **wrong})


def test_what_was_set_later_is_named_when_it_is_sent() -> None:
    message: Any = Message("T", b"x")
    message.keys = [42]
    with pytest.raises(InvalidMessage, match="each of keys is str"):
        message.validate()
    message.keys, message.properties = (), {"a": 1}
    with pytest.raises(InvalidMessage, match="property 'a' is str"):
        message.validate()


def test_a_delay_may_be_seconds() -> None:
    assert text(delay=5)["TIMER_DELAY_MS"] == "5000"
    assert text(delay=0.25)["TIMER_DELAY_MS"] == "250"
