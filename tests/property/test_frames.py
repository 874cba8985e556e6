"""Frames: any split of any valid stream gives the same commands; any other bytes give commands or FrameError."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.errors import CommandError, FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.requests.pull import decode_pull
from sprocketmq.protocol.requests.send import decode_send

INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COMMANDS = st.builds(
    Command,
    st.integers(-(2**15), 2**15 - 1),
    opaque=INT32,
    flag=INT32,
    ext_fields=st.none() | st.dictionaries(TEXT, TEXT, min_size=1, max_size=5),
    body=st.binary(max_size=50),
    remark=st.none() | TEXT.filter(bool),
    language=st.integers(0, 13),
    version=st.integers(0, 2**15 - 1),
    serialize_type=st.integers(0, 1),
)


def fields(command: Command) -> tuple[Any, ...]:
    return (
        command.code, command.opaque, command.flag, command.ext_fields, command.body, command.remark,
        command.language, command.version, command.serialize_type,
    )  # fmt: skip


def feed(pieces: list[bytes]) -> list[tuple[Any, ...]]:
    decoder = FrameDecoder()
    return [fields(command) for piece in pieces for command in decoder.feed(piece)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in pairwise(edges)]


@given(COMMANDS)
def test_round_trip(command: Command) -> None:
    assert feed([encode_frame(command)]) == [fields(command)]


@given(st.lists(COMMANDS, max_size=4), st.lists(st.integers(0, 10_000), max_size=8))
def test_any_split_gives_the_same_commands(commands: list[Command], places: list[int]) -> None:
    data = b"".join(map(encode_frame, commands))
    assert feed(cut(data, places)) == [fields(command) for command in commands]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=3))
def test_arbitrary_bytes_give_commands_or_frame_error(data: bytes, places: list[int]) -> None:
    with suppress(FrameError):
        feed(cut(data, places))


@given(st.binary(max_size=120), st.integers(0, 3))
def test_arbitrary_headers_give_commands_or_frame_error(header: bytes, serialize_type: int) -> None:
    data = (4 + len(header)).to_bytes(4, "big") + bytes([serialize_type]) + len(header).to_bytes(3, "big") + header
    try:
        (command,) = FrameDecoder().feed(data)
    except FrameError:
        return
    assert command.ext_fields is None or all(isinstance(value, str) for value in command.ext_fields.values())
    (again,) = FrameDecoder().feed(encode_frame(command))
    assert fields(again)[:6] == fields(command)[:6]


@given(COMMANDS, st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_gives_commands_or_frame_error(command: Command, place: int, change: int) -> None:
    data = bytearray(encode_frame(command))
    data[place % len(data)] ^= change
    try:
        found = FrameDecoder().feed(bytes(data))
    except FrameError:
        return
    for changed in found:
        repr(changed)
        with suppress(CommandError):
            decode_send(changed)
        with suppress(CommandError):
            decode_pull(changed)
