from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from zlib import compress

import pytest
from tests.unit.client.fakes import stored

from sprocketmq.client.received import ReceivedMessage, inside, split_records
from sprocketmq.errors import BodyError
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.sysflag import CompressionType, with_compression


def test_the_namespace_is_no_part_of_the_topic() -> None:
    (message,) = split_records(stored(b"x", 0, topic="ns%orders"), "b")
    assert message.topic == "ns%orders"
    inside("ns", [message])
    assert (message.topic, message.full_topic, message.queue.topic) == ("orders", "ns%orders", "ns%orders")


def test_records_of_a_pull() -> None:
    data = b"".join(stored(b"body-%d" % i, 10 + i) for i in range(3))
    messages = split_records(data, "broker-a")
    assert [(m.queue_offset, m.body) for m in messages] == [(10, b"body-0"), (11, b"body-1"), (12, b"body-2")]
    assert messages[0].queue == MessageQueue("T", "broker-a", 0)
    assert sum(m.size for m in messages) == len(data)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda message: pickle.loads(pickle.dumps(message))])
@pytest.mark.parametrize("is_read", [False, True])
def test_a_message_goes_to_other_processes(copied: Callable[[ReceivedMessage], ReceivedMessage], is_read: bool) -> None:
    """Alone: the other messages of its pull stay where they are."""
    data = b"".join(stored(b"%d" % i * 1000, 10 + i, topic="ns%T") for i in range(3))
    message = inside("ns", split_records(memoryview(data), "broker-a"))[1]
    message.local_tries = 2
    if is_read:
        assert message.body
    made = copied(message)
    assert (made.body, made.topic, made.queue) == (message.body, "T", message.queue)
    assert (made.queue_offset, made.reconsume_times, made.raw) == (11, 2, message.raw)
    assert len(pickle.dumps(message)) < 1500


def test_properties() -> None:
    text = encode_properties({"TAGS": "new", "KEYS": "1\t2 3", "UNIQ_KEY": "AB", "color": "red", "__SHARDINGKEY": "s"})
    (message,) = split_records(stored(b"x", 0, properties=text.encode()), "b")
    assert (message.tag, message.keys, message.message_id, message.sharding_key) == ("new", ("1\t2", "3"), "AB", "s")
    assert message.properties["color"] == "red"


def test_a_retried_message_tells_its_first_topic() -> None:
    text = encode_properties({"RETRY_TOPIC": "orders"})
    (message,) = split_records(stored(b"x", 0, topic="%RETRY%g", properties=text.encode()), "b")
    assert (message.topic, message.stored_topic) == ("orders", "%RETRY%g")


def test_without_unique_key_the_place_is_the_id() -> None:
    (message,) = split_records(stored(b"x", 0, commit_offset=0x1234), "b")
    assert message.message_id == message.offset_message_id == "0000000000000000" + "0000000000001234"


def test_compressed_body_is_inflated_once() -> None:
    flag = with_compression(0, CompressionType.ZLIB)
    (message,) = split_records(stored(compress(b"long text" * 100), 0, sys_flag=flag), "b")
    assert message.body == b"long text" * 100
    assert message.body is message.body


@pytest.mark.parametrize("cut", [1, 7, 30, 90])
def test_a_torn_pull_is_refused(cut: int) -> None:
    data = stored(b"whole", 0) + stored(b"torn", 1)
    with pytest.raises(BodyError):
        split_records(data[: len(stored(b"whole", 0)) + cut], "b")


def test_tries_count_here_and_at_the_broker() -> None:
    (message,) = split_records(stored(b"x", 0, reconsume_times=2), "b")
    message.local_tries += 1
    assert message.reconsume_times == 3
