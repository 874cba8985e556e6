from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from sprocketmq.client.blocking.frame_reader import Inbox
from sprocketmq.errors import FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(60)
        yield here, there


def frame(opaque: int, body: bytes) -> bytes:
    return encode_frame(Command(0, opaque=opaque, flag=1, body=body))


def test_frames_that_arrive_together(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends
    there.sendall(frame(1, b"one") + frame(2, b"") + frame(3, b"three"))
    inbox = Inbox()
    found = [inbox.read(here) for _ in range(3)]
    assert [(command.opaque, command.body) for command in found if command] == [(1, b"one"), (2, b""), (3, b"three")]


def test_a_body_stays_when_the_room_is_used_again(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends
    inbox = Inbox()
    there.sendall(frame(1, b"a" * 1000))
    first = inbox.read(here)
    there.sendall(frame(2, b"b" * 1000))
    second = inbox.read(here)
    assert first is not None
    assert second is not None
    assert (first.body, second.body) == (b"a" * 1000, b"b" * 1000)


def test_a_read_goes_on_after_a_timeout(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends
    whole, inbox = frame(7, b"x" * 90_000), Inbox()
    here.settimeout(0.01)
    for begin, end in ((0, 3), (3, 20), (20, 70_000)):
        there.sendall(whole[begin:end])
        with pytest.raises(TimeoutError):
            inbox.read(here)
    here.settimeout(60)
    there.sendall(whole[70_000:])
    found = inbox.read(here)
    assert found is not None
    assert (found.opaque, found.body) == (7, b"x" * 90_000)


def test_the_end_of_a_connection(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends
    there.sendall(frame(1, b"cut off")[:-2])
    there.close()
    assert Inbox().read(here) is None


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"\x00\x00\x00\x03abc", "frame length 3"),
        (b"\xff\xff\xff\xff", "frame length -1"),
        (b"\x00\x10\x00\x01", "frame length 1048577"),
        (b"\x00\x00\x00\x08\x07\x00\x00\x00abcd", "serialize type 7"),
        (b"\x00\x00\x00\x08\x00\x00\x00\x05abcd", "header of 5 bytes in a frame of 8"),
        (b"\x00\x00\x00\x08\x00\x00\x00\x04abcd", "header"),
    ],
)
def test_what_is_no_frame(ends: tuple[socket.socket, socket.socket], octets: bytes, reason: str) -> None:
    here, there = ends
    there.sendall(octets)
    with pytest.raises(FrameError, match=reason):
        Inbox(1024 * 1024).read(here)
