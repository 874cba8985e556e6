"""What was received of a stream and is not decoded yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sprocketmq.errors import FrameError

T = TypeVar("T")

#: A Java slave has one read buffer of this size, so no Java master can have frames above it.
MAX_BODY_BYTES = 4 << 20


class StreamBuffer:
    """Bytes come in at one end in any pieces, and whole messages leave at the other."""

    def __init__(self) -> None:
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data)

    def feed(
        self, data: bytes | bytearray | memoryview, next_message: Callable[[bytearray], tuple[T, int] | None]
    ) -> list[T]:
        """All messages that are whole now. `next_message` decodes the first, or says None when it is not whole.

        A bad message takes its batch with it: the connection ends anyway.
        """
        self._data += data
        found: list[T] = []
        while (message := next_message(self._data)) is not None:
            found.append(message[0])
            del self._data[: message[1]]
        return found


def check_body_size(size: int) -> int:
    """The size, when a frame may declare it."""
    if not 0 <= size <= MAX_BODY_BYTES:
        raise FrameError(f"a replication frame of {size} bytes")
    return size


def check_not_below(number: int, what: str, *, low: int = 0) -> int:
    if number < low:
        raise FrameError(f"{what} is {number}")
    return number
