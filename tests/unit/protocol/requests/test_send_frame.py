from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.signatures import is_signed

from sprocketmq.codes import FLAG_ONEWAY, LanguageCode, RequestCode, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.send import SendMessageRequestHeaderV2
from sprocketmq.protocol.requests.send import LETTER_OF, LETTERS, NAMES, decode_send
from sprocketmq.protocol.requests.send_frame import Payload, SendFrames, Sign
from sprocketmq.protocol.signing import with_signature

SEND, BATCH, REPLY = RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2
PROPERTIES = "UNIQ_KEY\x01Ä\x02WAIT\x01true\x02".encode()


def frames(sign: Sign | None = None) -> SendFrames:
    return SendFrames(
        group="g", topic="Ünï", default_topic="TBW102", topic_queues=4, queue_id=7, broker_name="b", sign=sign
    )


def decoded(frame: bytes) -> Command:
    (command,) = FrameDecoder().feed(frame)
    return command


_INTS = st.integers(-(2**31), 2**31 - 1)
_PAYLOADS = st.builds(
    Payload, st.just("Ünï"), st.binary(max_size=20), st.sampled_from([b"", PROPERTIES]),
    code=st.sampled_from([SEND, BATCH, REPLY]), born_ms=st.integers(-(2**62), 2**62), flag=_INTS, sys_flag=_INTS,
    reconsume_times=_INTS, max_reconsume_times=st.none() | _INTS,
)  # fmt: skip


@given(_PAYLOADS, _INTS, st.sampled_from([0, FLAG_ONEWAY]))
def test_a_frame_holds_the_declared_header(payload: Payload, opaque: int, flag: int) -> None:
    header = SendMessageRequestHeaderV2(
        producer_group="g", topic="Ünï", default_topic="TBW102", default_topic_queue_nums=4, queue_id=7,
        sys_flag=payload.sys_flag, born_timestamp=payload.born_ms, flag=payload.flag,
        properties=payload.properties.decode() or None, reconsume_times=payload.reconsume_times, unit_mode=False,
        max_reconsume_times=payload.max_reconsume_times, batch=payload.code == BATCH, broker_name="b",
    )  # fmt: skip
    expected = Command(
        payload.code, opaque=opaque, flag=flag, ext_fields=to_ext_fields(header), body=bytes(payload.body),
        serialize_type=SerializeType.ROCKETMQ,
    )  # fmt: skip
    command = decoded(frames().whole(payload, opaque, flag))
    assert len(frames().whole(payload, opaque, flag)) == len(encode_frame(expected))
    assert command.ext_fields == expected.ext_fields
    assert (command.code, command.opaque, command.flag, command.body) == (payload.code, opaque, flag, payload.body)
    assert (command.language, command.version, command.remark) == (LanguageCode.PYTHON, expected.version, None)


@given(_PAYLOADS)
def test_a_frame_reads_back(payload: Payload) -> None:
    command = decoded(frames().whole(payload, 9))
    request = decode_send(command)
    assert (request.producer_group, request.topic, request.default_topic) == ("g", "Ünï", "TBW102")
    assert (request.default_topic_queue_nums, request.queue_id, request.broker_name) == (4, 7, "b")
    assert (request.born_timestamp, request.flag, request.sys_flag) == (payload.born_ms, payload.flag, payload.sys_flag)
    assert (request.properties, request.batch) == (payload.properties, payload.code == BATCH)
    assert (request.reconsume_times, request.max_reconsume_times) == (
        payload.reconsume_times,
        payload.max_reconsume_times,
    )


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_a_head_goes_before_its_body(kind: type[bytes | bytearray]) -> None:
    payload = Payload("Ünï", kind(b"x" * 1000), b"", code=BATCH, born_ms=5)
    head = frames().head(payload, 1)
    assert head + payload.body == frames().whole(payload, 1)
    assert len(head) < 1000


@given(_PAYLOADS, st.none() | st.just("token"))
def test_a_signature_is_of_what_travels(payload: Payload, token: str | None) -> None:
    def sign(fields: Mapping[str, str], body: bytes | bytearray, code: int) -> Mapping[str, str]:
        assert code == payload.code
        return with_signature(fields, body, access_key="key", secret_key="secret", security_token=token)

    signed, plain = decoded(frames(sign).whole(payload, 9)), decoded(frames().whole(payload, 9))
    fields = signed.ext_fields or {}
    assert is_signed(fields, signed.body, "secret")
    assert fields == sign(plain.ext_fields or {}, plain.body, payload.code)
    assert frames(sign).head(payload, 9) + payload.body == frames(sign).whole(payload, 9)


def test_letters_and_names() -> None:
    assert "".join(LETTERS) == "abcdefghijklmn"
    assert [LETTER_OF[name] for name in NAMES] == list(LETTERS)
    assert (LETTER_OF["producerGroup"], LETTER_OF["maxReconsumeTimes"], LETTER_OF["brokerName"]) == ("a", "l", "n")
