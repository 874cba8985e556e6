# cython: annotation_typing=False
"""What a broker answers to a send, read from the bytes of the answer where its header is binary."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.client.errors import Refused
from sprocketmq.client.message import SendReceipt, SendStatus
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

if not cython.compiled:
    from sprocketmq.hot.octets import i16, i32, same, text
    from sprocketmq.hot.tuples import tuple_of
    from sprocketmq.protocol.frame.binary_header import integer

_STATUS = {status.value: status for status in SendStatus}


def receipt_of(answer: Command, unique_key: str, queue: MessageQueue, address: str) -> SendReceipt:
    """What the broker said of the message; raises Refused when it did not store it."""
    status = _STATUS.get(answer.code)
    if status is None:
        raise Refused(answer.code, answer.remark, address)
    try:
        if answer._block is not None:
            return from_block(answer._block, status, unique_key, queue)
        return from_fields(answer.ext_fields or {}, status, unique_key, queue)
    except (KeyError, ValueError):
        raise Refused(answer.code, answer.remark or "no offset in the answer", address) from None


def from_block(block: bytes, status: SendStatus, unique_key: str, queue: MessageQueue) -> SendReceipt:
    """From the ext fields as they came: the answer to every send is not worth a dict."""
    offset = queue_id = -1
    message_id, transaction_id, handle, region = "", None, None, None
    p = block  # compiled, a pointer without bounds: the frame's decoder has checked the lengths in it
    at, end = 0, len(block)
    while at < end:
        length = i16(p, at)
        value = at + 6 + length
        stop = value + i32(p, value - 4)
        if length == 11 and same(p, at + 2, b"queueOffset", 0, 11):
            offset = integer(p, value, stop, 64)
        elif length == 7 and same(p, at + 2, b"queueId", 0, 7):
            queue_id = integer(p, value, stop, 32)
        elif length == 5 and same(p, at + 2, b"msgId", 0, 5):
            message_id = text(p, value, stop)
        elif length == 13 and same(p, at + 2, b"transactionId", 0, 13):
            transaction_id = text(p, value, stop) or None
        elif length == 12 and same(p, at + 2, b"recallHandle", 0, 12):
            handle = text(p, value, stop) or None
        elif length == 10 and same(p, at + 2, b"MSG_REGION", 0, 10):
            region = text(p, value, stop) or None
        at = stop
    if offset < 0:
        raise KeyError("queueOffset")
    placed = placed_in(queue, queue_id)
    return tuple_of(SendReceipt, (status, unique_key, message_id, placed, offset, transaction_id, handle, region))


def from_fields(ext: dict[str, str], status: SendStatus, unique_key: str, queue: MessageQueue) -> SendReceipt:
    return SendReceipt(
        status, unique_key, ext.get("msgId", ""), placed_in(queue, int(ext.get("queueId", -1))),
        int(ext["queueOffset"]), ext.get("transactionId"), ext.get("recallHandle"), ext.get("MSG_REGION"),
    )  # fmt: skip


def placed_in(queue: MessageQueue, queue_id: int) -> MessageQueue:
    """The queue that the broker names; it may have chosen another one."""
    same_queue = queue_id < 0 or queue_id == queue.queue_id
    return queue if same_queue else MessageQueue(queue.topic, queue.broker_name, queue_id)
