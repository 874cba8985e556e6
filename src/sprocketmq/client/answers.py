"""What a broker answers to a send."""

from __future__ import annotations

from sprocketmq.client.errors import Refused
from sprocketmq.client.message import SendReceipt, SendStatus
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

_STATUS = {status.value: status for status in SendStatus}


def receipt_of(answer: Command, unique_key: str, queue: MessageQueue, address: str) -> SendReceipt:
    """What the broker said of the message; raises Refused when it did not store it."""
    status = _STATUS.get(answer.code)
    ext = answer.ext_fields or {}
    if status is None or "queueOffset" not in ext:
        raise Refused(answer.code, answer.remark, address)
    placed = queue
    if (queue_id := ext.get("queueId")) is not None and int(queue_id) != queue.queue_id:
        placed = MessageQueue(queue.topic, queue.broker_name, int(queue_id))
    return SendReceipt(
        status, unique_key, ext.get("msgId", ""), placed, int(ext["queueOffset"]), ext.get("transactionId"),
        ext.get("recallHandle"), ext.get("MSG_REGION"),
    )  # fmt: skip
