"""Replication streams: any split gives the same messages, and any bytes give messages or FrameError."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.errors import BodyError, FrameError
from sprocketmq.protocol.ha import default_stream, switch_stream
from sprocketmq.protocol.ha.epoch_file import decode_epoch_file, encode_epoch_file
from sprocketmq.protocol.ha.epochs import Epoch, EpochList, consistent_point

OFFSET = st.integers(0, 2**63 - 1)
BODY = st.binary(max_size=60)
DECODERS = st.sampled_from(
    [
        default_stream.TransferDecoder,
        default_stream.ReportDecoder,
        switch_stream.SlaveDecoder,
        switch_stream.MasterDecoder,
    ]
)


@st.composite
def epoch_lists(draw: st.DrawFn) -> EpochList:
    steps = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 50)), max_size=6))
    number = start = 0
    epochs = []
    for more, wide in steps:
        epochs.append(Epoch(number := number + more, start))
        start += wide
    return EpochList(epochs)


def frames(offset: int, body: bytes, epoch: int, start: int) -> bytes:
    return switch_stream.encode_frame_header(offset, len(body), Epoch(epoch, start), offset) + body


SWITCH = st.lists(
    st.builds(frames, OFFSET, BODY, st.integers(0, 2**31 - 1), OFFSET)
    | st.builds(lambda end, epochs: switch_stream.encode_answer(end, epochs.all), OFFSET, epoch_lists()),
    max_size=5,
).map(b"".join)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in pairwise(edges)]


@given(SWITCH, st.lists(st.integers(0, 10**6), max_size=20))
def test_any_split_gives_the_same_messages(data: bytes, places: list[int]) -> None:
    decoder = switch_stream.MasterDecoder()
    pieces = [message for piece in cut(data, places) for message in decoder.feed(piece)]
    assert pieces == switch_stream.MasterDecoder().feed(data)


@given(DECODERS, st.lists(st.binary(max_size=80), max_size=6))
def test_any_bytes_give_messages_or_one_error(make: Any, pieces: list[bytes]) -> None:
    decoder = make()
    with suppress(FrameError):
        for piece in pieces:
            decoder.feed(piece)


@given(epoch_lists())
def test_an_epoch_file_comes_back(epochs: EpochList) -> None:
    assert decode_epoch_file(encode_epoch_file(epochs)) == epochs


@given(st.text(st.sampled_from("0123456789-\n"), max_size=40))
def test_any_text_is_an_epoch_file_or_one_error(text: str) -> None:
    with suppress(BodyError):
        decode_epoch_file(text)


@given(epoch_lists(), epoch_lists(), st.integers(0, 100), st.integers(0, 100))
def test_the_consistent_point_is_in_both_logs(a: EpochList, b: EpochList, more: int, wide: int) -> None:
    a_end = more + (a.last.start if a.last else 0)
    b_end = wide + (b.last.start if b.last else 0)
    point = consistent_point(a, a_end, b, b_end)
    assert point == consistent_point(b, b_end, a, a_end)
    assert point is None or 0 <= point <= min(a_end, b_end)
