r"""Messages in a form of the user's own, as bytes.

    %t topic    %b broker     %q queue      %o offset       %i id          %I offset id
    %s body     %S its size   %k keys       %g tag          %n tries       %h properties, NAME=VALUE with commas
    %T when it was stored, in milliseconds                  %d the same as ISO 8601
    %{NAME} one property      %% a percent sign
    \n \t \r \0 \\ \xHH       as in C

Nothing is added: a line needs its `\n`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC
from typing import TYPE_CHECKING

import click

from sprocketmq.cli.arguments import ESCAPES
from sprocketmq.cli.output.message_text import body_bytes

if TYPE_CHECKING:
    from sprocketmq.client.received import ReceivedMessage

Field = Callable[["ReceivedMessage"], "bytes | str | int"]

FIELDS: dict[str, Field] = {
    "t": lambda message: message.topic,
    "b": lambda message: message.broker_name,
    "q": lambda message: message.queue_id,
    "o": lambda message: message.queue_offset,
    "i": lambda message: message.message_id,
    "I": lambda message: message.offset_message_id,
    "s": body_bytes,
    "S": lambda message: len(body_bytes(message)),
    "k": lambda message: " ".join(message.keys),
    "g": lambda message: message.tag or "",
    "n": lambda message: message.reconsume_times,
    "h": lambda message: ",".join(f"{name}={value}" for name, value in message.properties.items()),
    "T": lambda message: message.record.store_timestamp,
    "d": lambda message: message.stored_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
}

_PIECE = re.compile(r"%\{([^}]+)\}|%(.?)|\\x([0-9a-fA-F]{2})|\\(.?)|([^%\\]+)", re.DOTALL)


def compile_format(text: str) -> Callable[[ReceivedMessage], bytes]:
    """A function that writes a message as `text` says; click.BadParameter when it means nothing."""
    pieces = [_piece(match) for match in _PIECE.finditer(text)]

    def render(message: ReceivedMessage) -> bytes:
        return b"".join(piece if isinstance(piece, bytes) else _bytes(piece(message)) for piece in pieces)

    return render


def _piece(match: re.Match[str]) -> bytes | Field:
    name, field, code, escape, plain = match.groups()
    if plain is not None:
        return os.fsencode(plain)
    if name is not None:
        return lambda message: message.properties.get(name, "")
    if code is not None:
        return bytes.fromhex(code)
    if field == "%":
        return b"%"
    if field is not None and field in FIELDS:
        return FIELDS[field]
    if escape is not None and escape in ESCAPES:
        return ESCAPES[escape]
    said = f"'{match[0]}' is neither a field nor an escape"
    raise click.BadParameter(said, param_hint="--format")


def _bytes(value: bytes | str | int) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
