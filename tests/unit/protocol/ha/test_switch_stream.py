from __future__ import annotations

from typing import Any

import pytest
from tests.unit.protocol.ha.golden_streams import SESSIONS, in_every_split, recorded

from sprocketmq.errors import FrameError
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.protocol.ha.stream_buffer import MAX_BODY_BYTES
from sprocketmq.protocol.ha.switch_stream import (
    MAX_EPOCHS,
    EpochFrame,
    Handshake,
    HandshakeAnswer,
    MasterDecoder,
    SlaveDecoder,
    SlaveReport,
    encode_answer,
    encode_frame_header,
    encode_handshake,
    encode_report,
)

sessions = pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session["name"])


def of_slave(entry: dict[str, Any]) -> Handshake | SlaveReport:
    if entry["state"] == "HANDSHAKE":
        return Handshake(entry["slaveBrokerId"], bool(entry["syncFromLastFile"]), bool(entry["asyncLearner"]))
    return SlaveReport(entry["logEnd"])


def of_master(entry: dict[str, Any], body: bytes) -> HandshakeAnswer | EpochFrame:
    if entry["state"] == "HANDSHAKE":
        epochs = tuple(Epoch(epoch["epoch"], epoch["startOffset"]) for epoch in entry["epochs"])
        return HandshakeAnswer(entry["masterLogEnd"], epochs)
    epoch = Epoch(entry["epoch"], entry["epochStartOffset"])
    return EpochFrame(entry["offset"], epoch, entry["confirmOffset"], body)


def encoded(message: Handshake | SlaveReport | HandshakeAnswer | EpochFrame) -> bytes:
    if isinstance(message, Handshake):
        return encode_handshake(message)
    if isinstance(message, SlaveReport):
        return encode_report(message.log_end)
    if isinstance(message, HandshakeAnswer):
        return encode_answer(message.log_end, message.epochs)
    head = encode_frame_header(message.offset, len(message.body), message.epoch, message.confirm_offset)
    return head + message.body


@sessions
def test_what_a_java_slave_says(session: dict[str, Any]) -> None:
    data = recorded("autoswitch", session["c2s"])
    said = in_every_split(SlaveDecoder, data)
    assert said == [of_slave(entry) for entry in session["slaveSends"]]
    assert b"".join(map(encoded, said)) == data


@sessions
def test_what_a_java_master_says(session: dict[str, Any]) -> None:
    data = recorded("autoswitch", session["s2c"])
    said = in_every_split(MasterDecoder, data)
    bodies = [data[entry["at"] + 36 : entry["at"] + 36 + entry["bodySize"]] for entry in session["masterSends"]]
    assert said == [of_master(entry, body) for entry, body in zip(session["masterSends"], bodies, strict=True)]
    assert b"".join(map(encoded, said)) == data


def test_a_master_tells_its_newest_epochs() -> None:
    epochs = [Epoch(number, number * 10) for number in range(MAX_EPOCHS + 5)]
    (answer,) = MasterDecoder().feed(encode_answer(10**6, epochs))
    assert isinstance(answer, HandshakeAnswer)
    assert answer.epochs == tuple(epochs[5:])


def test_a_master_without_a_log_has_a_heartbeat_too() -> None:
    heartbeat = encode_frame_header(-1, 0, Epoch(1, 0), 0)
    assert MasterDecoder().feed(heartbeat) == [EpochFrame(-1, Epoch(1, 0), 0, b"")]


@pytest.mark.parametrize("state", [0, 3, 4, 5, -1])
def test_a_state_that_is_never_said_ends_the_stream(state: int) -> None:
    for decoder in (SlaveDecoder(), MasterDecoder()):
        with pytest.raises(FrameError, match=f"state {state} "):
            decoder.feed(state.to_bytes(4, "big", signed=True))


@pytest.mark.parametrize(
    "head",
    [
        encode_frame_header(0, MAX_BODY_BYTES + 1, Epoch(1, 0), 0),
        encode_frame_header(0, -1, Epoch(1, 0), 0),
        encode_frame_header(-1, 5, Epoch(1, 0), 0),
        encode_frame_header(-2, 0, Epoch(1, 0), 0),
        encode_answer(-1, []),
        encode_answer(9, [Epoch(2, 0), Epoch(1, 5)]),
        encode_answer(9, [Epoch(1, 5), Epoch(2, 5)]),
        encode_answer(9, [Epoch(1, -5)]),
        bytes.fromhex("00000001 0000000b 0000000000000000 00000001"),
        bytes.fromhex("00000001 00500000 0000000000000000 00000001"),
    ],
)
def test_a_head_that_cannot_be_ends_the_stream(head: bytes) -> None:
    with pytest.raises(FrameError):
        MasterDecoder().feed(head)


def test_a_slave_has_an_id_and_an_end() -> None:
    for message in (encode_handshake(Handshake(-1)), encode_report(-1)):
        with pytest.raises(FrameError):
            SlaveDecoder().feed(message)
