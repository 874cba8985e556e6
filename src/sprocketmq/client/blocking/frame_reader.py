"""Frames off a plain socket, one by one.

Each is read into one room that is used again for the next: a pull brings a megabyte, and to gather its pieces first
would cost more than to decode it. A read that runs out of time leaves what has come; the next one goes on from there.
"""

from __future__ import annotations

import socket

from sprocketmq.errors import FrameError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import MAX_FRAME_BYTES, decode_frame

_LENGTH = 4


class Inbox:
    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._room = bytearray(64 * 1024)
        self._have, self._wanted = 0, _LENGTH

    def read(self, peer: socket.socket) -> Command | None:
        """The next frame, or None when the peer closed the connection. The socket's timeout holds for each piece."""
        while self._have < self._wanted:
            with memoryview(self._room) as room:
                got = peer.recv_into(room[self._have : self._wanted])
            if not got:
                return None
            self._have += got
            if self._have == self._wanted == _LENGTH:
                self._make_room()
        size, self._have, self._wanted = self._have, 0, _LENGTH
        return decode_frame(self._room, size)

    def _make_room(self) -> None:
        length = int.from_bytes(self._room[:_LENGTH], "big", signed=True)
        if not _LENGTH <= length <= self._max_bytes:
            raise FrameError(f"frame length {length}")
        self._wanted = _LENGTH + length
        if self._wanted > len(self._room):
            self._room.extend(bytes(self._wanted - len(self._room)))
