from __future__ import annotations

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
        {"properties": {"a": ""}},
        {"properties": {"": "a"}},
        {"properties": {"a": 1}},
        {"properties": {"a\x01b": "c"}},
        {"properties": {"a": "b\x02c"}},
        {"tag": "a\x02"},
        {"keys": ["a\x01"]},
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
