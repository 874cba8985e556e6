from __future__ import annotations

import pytest

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.system_topics.delivery import Home, home_of, message_of, redirect
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.log.append import PutResult, PutStatus


def test_a_message_finds_home_from_where_it_rested() -> None:
    message = BrokerMessage(
        topic="T", queue_id=3, body=b"x", properties={"TAGS": "A"}, born_timestamp=1, born_host=bytes(8)
    )
    redirect(message, "resting", 0)
    assert (message.topic, message.queue_id) == ("resting", 0)
    assert home_of(message.properties) == Home("T", 3)


@pytest.mark.parametrize(
    "properties",
    [{}, {"REAL_TOPIC": "T"}, {"REAL_TOPIC": "../T", "REAL_QID": "1"}, {"REAL_TOPIC": "T", "REAL_QID": "-1"}],
)
def test_what_says_no_place_has_no_home(properties: dict[str, str]) -> None:
    assert home_of(properties) is None


def test_a_record_becomes_a_message_with_all_that_its_sender_gave() -> None:
    record = Record(
        topic="resting", body=b"x", flag=5, sys_flag=1, born_timestamp=9, born_host=bytes(8), reconsume_times=2,
        properties=b"TAGS\x01A\x02", queue_offset=77, store_timestamp=88,
    )  # fmt: skip
    message = message_of(record, Home("T", 3))
    assert (message.topic, message.queue_id, message.flag, message.sys_flag) == ("T", 3, 5, 1)
    assert (message.born_timestamp, message.reconsume_times, message.properties) == (9, 2, {"TAGS": "A"})


async def test_a_message_that_the_store_refuses_is_reported_once(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again and again, by a delay, a timer or a revival."""
    deliveries = broker.kinds.schedule._deliveries
    record = Record(topic="resting", body=b"x", born_timestamp=1, born_host=bytes(8))
    with monkeypatch.context() as full:
        refused = PutResult(PutStatus.CREATE_MAPPED_FILE_FAILED)
        full.setattr(BrokerMessage, "put_to", lambda _message, _store: refused)
        assert [deliveries.deliver(record, Home("T", 0), {}) for _ in range(2)] == [False, False]
    assert [line.getMessage() for line in caplog.records] == ["message not delivered yet"]
    assert deliveries.deliver(record, Home("T", 0), {})
