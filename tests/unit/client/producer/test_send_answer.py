from __future__ import annotations

import pytest

from sprocketmq.client.errors import Refused
from sprocketmq.client.message import SendReceipt, SendStatus
from sprocketmq.client.producer.send_answer import receipt_of
from sprocketmq.codes import ResponseCode, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.message_queue import MessageQueue

QUEUE = MessageQueue("T", "a", 1)
STORED = {"msgId": "ID", "queueId": "1", "queueOffset": "9000000000", "TRACE_ON": "true"}


@pytest.fixture(params=[SerializeType.JSON, SerializeType.ROCKETMQ])
def kind(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def answer(kind: int, ext: dict[str, str] | None, code: int = 0, remark: str | None = None) -> Command:
    """As it comes off the wire."""
    command = Command(code, flag=1, ext_fields=ext, remark=remark, serialize_type=kind)
    (read,) = FrameDecoder().feed(encode_frame(command))
    return read


def test_what_a_receipt_says(kind: int) -> None:
    receipt = receipt_of(answer(kind, STORED), "KEY", QUEUE, "a:1")
    assert receipt == SendReceipt(SendStatus.OK, "KEY", "ID", QUEUE, 9_000_000_000)
    more = STORED | {"queueId": "3", "transactionId": "TX", "recallHandle": "H", "MSG_REGION": "R"}
    receipt = receipt_of(answer(kind, more, ResponseCode.FLUSH_DISK_TIMEOUT), "KEY", QUEUE, "a:1")
    assert (receipt.status, receipt.queue) == (SendStatus.FLUSH_DISK_TIMEOUT, MessageQueue("T", "a", 3))
    assert (receipt.transaction_id, receipt.recall_handle, receipt.region_id) == ("TX", "H", "R")


def test_a_refusal(kind: int) -> None:
    with pytest.raises(Refused, match="no room") as refused:
        receipt_of(answer(kind, STORED, ResponseCode.SYSTEM_BUSY, "no room"), "KEY", QUEUE, "a:1")
    assert refused.value.retriable


@pytest.mark.parametrize("ext", [None, {"msgId": "ID"}, STORED | {"queueOffset": "x"}, STORED | {"queueId": "1.5"}])
def test_success_without_an_offset_is_none(kind: int, ext: dict[str, str] | None) -> None:
    with pytest.raises(Refused):
        receipt_of(answer(kind, ext), "KEY", QUEUE, "a:1")
