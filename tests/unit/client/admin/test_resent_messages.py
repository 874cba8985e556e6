"""Messages that are sent once more, as the administrator's client does with dead letters."""

from __future__ import annotations

from tests.unit.client.fakes import stored

from sprocketmq.client.admin.resent_messages import copy_of
from sprocketmq.client.received import split_records
from sprocketmq.protocol.record.properties import encode_properties


def test_a_copy_has_what_its_sender_said_and_nothing_of_the_brokers() -> None:
    """RocketMQ's checksum of the properties is of the old ones: a copy with it looks damaged."""
    noted = {"UNIQ_KEY": "ID", "WAIT": "true", "__CRC32#": "00C0FFEE", "RETRY_TOPIC": "orders", "1ST_POP_TIME": "7"}
    own = {"TAGS": "a", "KEYS": "k1 k2", "color": "red"}
    (message,) = split_records(stored(b"body", 0, properties=encode_properties(noted | own).encode()), "b")
    copy = copy_of(message, "orders")
    assert (copy.topic, copy.body, copy.tag, copy.keys) == ("orders", b"body", "a", ("k1", "k2"))
    assert copy.properties == {"color": "red"}
