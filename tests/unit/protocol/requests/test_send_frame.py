from __future__ import annotations

import pytest

from sprocketmq.codes import LanguageCode, RequestCode
from sprocketmq.protocol.frame.decoder import FrameDecoder
from sprocketmq.protocol.requests.send import decode_send
from sprocketmq.protocol.requests.send_frame import SendFrames

PROPERTIES = "UNIQ_KEY\x01Ä\x02WAIT\x01true\x02".encode()


def frames(is_batch: bool = False) -> SendFrames:
    code = RequestCode.SEND_BATCH_MESSAGE if is_batch else RequestCode.SEND_MESSAGE_V2
    return SendFrames(
        code, group="g", topic="Ünï", default_topic="TBW102", topic_queues=4, queue_id=7, broker_name="b", sys_flag=1,
        is_batch=is_batch,
    )  # fmt: skip


@pytest.mark.parametrize("flag", [0, 7, 10, -1, -120, 2**31 - 1])
def test_a_frame_reads_back(flag: int) -> None:
    (command,) = FrameDecoder().feed(frames().whole(9, 1_700_000_000_123, flag, PROPERTIES, b"body"))
    request = decode_send(command)
    assert (command.code, command.opaque, command.flag, command.body) == (310, 9, 0, b"body")
    assert (command.language, command.remark) == (LanguageCode.PYTHON, None)
    assert (request.producer_group, request.topic, request.default_topic) == ("g", "Ünï", "TBW102")
    assert (request.default_topic_queue_nums, request.queue_id, request.broker_name) == (4, 7, "b")
    assert (request.born_timestamp, request.flag, request.sys_flag) == (1_700_000_000_123, flag, 1)
    assert (request.properties, request.batch, request.reconsume_times) == (PROPERTIES, False, 0)


def test_a_head_goes_before_its_body() -> None:
    body = b"x" * 1000
    head = frames(is_batch=True).head(1, 5, 0, b"", len(body))
    (command,) = FrameDecoder().feed(head + body)
    assert (command.code, command.body) == (320, body)
    assert decode_send(command).batch
    assert decode_send(command).properties == b""
