from __future__ import annotations

import pytest

from sprocketmq.client.errors import InvalidMessage
from sprocketmq.client.message import Message, SendReceipt, SendStatus
from sprocketmq.client.producer.accumulator import Accumulator, entry_size
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.properties import decode_properties


def test_a_body_holds_what_was_added_and_an_id_each() -> None:
    content = Accumulator("every\x01one\x02")
    bodies = [b"%d" % i * 500 for i in range(40)]  # more than the first room
    for number, body in enumerate(bodies):
        content.add(Message("T", body, tag=f"tag{number}", flag=number, wait_stored=False), "own\x01ä\x02")
    entries = decode_batch(bytes(content.close()))
    assert [(flag, body) for flag, body, _ in entries] == list(enumerate(bodies))
    properties = [decode_properties(text) for _, _, text in entries]
    assert [one["TAGS"] for one in properties] == [f"tag{i}" for i in range(40)]
    assert all(one["every"] == "one" and one["own"] == "ä" and one["WAIT"] == "false" for one in properties)
    receipts = content.receipts(SendReceipt(SendStatus.OK, "", "X", MessageQueue("T", "a", 0), 7))
    assert [one.message_id for one in receipts] == [one["UNIQ_KEY"] for one in properties]
    assert (content.count, content.body_bytes) == (40, sum(map(len, bodies)))


def test_the_size_is_known_beforehand() -> None:
    content = Accumulator()
    for message in (Message("T", b"x"), Message("T", b"y" * 5000, tag="a", keys=["k"], properties={"p": "v"})):
        before = content.size
        content.add(message)
        assert content.size - before == entry_size(message)
    assert len(content.close()) == content.size


def test_what_does_not_fit_is_not_added() -> None:
    content = Accumulator()
    with pytest.raises(InvalidMessage):
        content.add(Message("T", b"x", properties={"p": "v" * 32768}))
    assert (content.count, content.size) == (0, 0)
    assert content.close() == b""
