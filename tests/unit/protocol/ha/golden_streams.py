"""The recorded streams, and one way to decode each in every split."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tests.unit.protocol.golden import GOLDEN

T = TypeVar("T")

HA = GOLDEN / "ha"
DEFAULT: dict[str, Any] = json.loads((HA / "default" / "index.json").read_text())
SESSIONS: list[dict[str, Any]] = json.loads((HA / "autoswitch" / "index.json").read_text())["sessions"]
FILES: dict[str, Any] = json.loads((HA / "files" / "index.json").read_text())["files"]


class Decoder(Protocol[T]):
    def feed(self, data: bytes) -> list[T]: ...


def recorded(*path: str) -> bytes:
    return HA.joinpath(*path).read_bytes()


def in_every_split(make: Callable[[], Decoder[T]], data: bytes) -> list[T]:
    """What the decoder makes of the whole; cut in two anywhere, and fed byte by byte, it must make the same."""
    whole = make().feed(data)
    for place in range(len(data) + 1):
        decoder = make()
        assert decoder.feed(data[:place]) + decoder.feed(data[place:]) == whole
    dribble = make()
    assert [message for byte in data for message in dribble.feed(bytes([byte]))] == whole
    return whole
