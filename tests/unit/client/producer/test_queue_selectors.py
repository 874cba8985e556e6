from __future__ import annotations

from sprocketmq.client.message import Message
from sprocketmq.client.producer.queue_selectors import by_hash, by_sharding_key
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.hashing import string_hash

QUEUES = [MessageQueue("T", broker, i) for broker in ("a", "b") for i in range(2)]
MESSAGE = Message("T", b"x")


def test_hash_is_javas() -> None:
    for key in ("", "order-1", "订单", "polygenelubricants"):  # the last hashes to the smallest int
        assert by_hash(key)(MESSAGE, QUEUES) == QUEUES[abs(string_hash(key)) % 4]


def test_sharding_key_stays_with_its_queue() -> None:
    message = Message("T", b"x", sharding_key="customer-7")
    assert len({by_sharding_key(message, QUEUES) for _ in range(20)}) == 1
