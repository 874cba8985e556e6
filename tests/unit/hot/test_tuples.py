from __future__ import annotations

import gc
import sys

from sprocketmq.client.message import SendReceipt, SendStatus
from sprocketmq.client.producer.send_answer import receipt_of
from sprocketmq.codes import SerializeType
from sprocketmq.hot.tuples import tuple_of
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "a", 1)


def test_it_is_what_the_constructor_makes() -> None:
    fields = (SendStatus.OK, "KEY", "ID", QUEUE, 5, None, None, None)
    made = tuple_of(SendReceipt, fields)
    assert (made, type(made)) == (SendReceipt(*fields), SendReceipt)


def test_fields_are_let_go_with_their_tuple() -> None:
    """By the form that the client uses: compiled, it counts references by hand."""
    ext = {"msgId": "ID", "queueOffset": "5"}
    (answer,) = FrameDecoder().feed(
        encode_frame(Command(0, flag=1, ext_fields=ext, serialize_type=SerializeType.ROCKETMQ))
    )
    key = "".join(["a", "key"])
    before = sys.getrefcount(key), sys.getrefcount(QUEUE)
    for _ in range(100):
        receipt = receipt_of(answer, key, QUEUE, "a:1")
        assert gc.is_tracked(receipt)
        assert (receipt.message_id, receipt.queue) == (key, QUEUE)
    del receipt
    assert (sys.getrefcount(key), sys.getrefcount(QUEUE)) == before
