"""Messages on the standard output, each written whole before the next is looked at."""

from __future__ import annotations

import io
import select
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from sprocketmq.cli.output.message_text import body_bytes, body_text, message_row
from sprocketmq.cli.output.tables import json_bytes
from sprocketmq.errors import SprocketError

if TYPE_CHECKING:
    from sprocketmq.client.received import ReceivedMessage

Render = Callable[["ReceivedMessage"], bytes]


class MessageWriter:
    def __init__(self, render: Render, stream: IO[bytes] | None = None) -> None:
        self._render = render
        if stream is None and sys.__stdout__ is None:  # what stands in its place takes everything, and keeps nothing
            raise SprocketError("the standard output is closed")
        self._stream = stream or sys.stdout.buffer

    def write(self, message: ReceivedMessage) -> None:
        """Returns when the system has it; OSError when it does not take it."""
        self._stream.write(self._render(message))
        self._stream.flush()

    @property
    def is_closed(self) -> bool:
        """Whether the reader of a pipe has gone: then nothing that is written now would be seen."""
        try:
            poll = select.poll()
            poll.register(self._stream.fileno(), 0)
        except (AttributeError, io.UnsupportedOperation):  # no such call on this system, or not a file
            return False
        return any(event & select.POLLERR for _, event in poll.poll(0))


def as_line(message: ReceivedMessage) -> bytes:
    tag = f" [{message.tag}]" if message.tag else ""
    place = f"{message.broker_name}:{message.queue_id}+{message.queue_offset}"
    return f"{place}{tag} {body_text(body_bytes(message))}\n".encode()


def as_json_line(message: ReceivedMessage) -> bytes:
    return json_bytes(message_row(message)) + b"\n"


def as_body(message: ReceivedMessage) -> bytes:
    return body_bytes(message) + b"\n"
