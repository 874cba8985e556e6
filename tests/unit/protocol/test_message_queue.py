from __future__ import annotations

from sprocketmq.protocol.message_queue import MessageQueue


def test_queues_are_ordered_by_topic_broker_and_id() -> None:
    queues = [
        MessageQueue("B", "a", 0),
        MessageQueue("A", "b", 0),
        MessageQueue("A", "a", 10),
        MessageQueue("A", "a", 9),
    ]
    assert sorted(queues) == queues[::-1]


def test_equal_queues_are_one_key() -> None:
    assert {MessageQueue("T", "b", 1): "x"}[MessageQueue("T", "b", 1)] == "x"


def test_a_queue_names_itself() -> None:
    assert str(MessageQueue("T", "broker-a", 3)) == "T@broker-a:3"
