"""What a scene is made of: servers, and steps that a client takes one after the other.

A step is a request, several at once, a wait or a closed connection. Every step is followed by whatever frames it
brings, on any connection: a parked pull is answered at a later step, and a notice of the broker stands where it came.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.corpus import wire
from tests.corpus.wire import Frame

#: The answers so far, by the names of their requests.
Answers: TypeAlias = Mapping[str, Frame]
#: A value, or what makes it of earlier answers.
Value: TypeAlias = object | Callable[[Answers], object]

START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Mask:
    """What differs from run to run and from machine to machine, and why."""

    pattern: bytes
    reason: str


@dataclass(frozen=True)
class Request:
    name: str
    code: int
    fields: Mapping[str, Value] | None = None
    body: bytes | Callable[[Answers], bytes] = b""
    binary: bool = False
    flag: int = 0
    version: int = 479
    #: Which connection; one that is new is opened. `far` ones come from another machine.
    on: str = "c1"
    server: str = "broker-a"
    #: Seconds that pass before the step is over.
    seconds: float = 0.0
    masks: tuple[Mask, ...] = ()
    #: The bytes as they are sent, when they are no proper frame.
    raw: bytes | None = None
    #: Answers a request of the server: the last one that came on this connection.
    answers_server: bool = False
    remark: str | None = None

    @property
    def opaque(self) -> int:
        return zlib.crc32(self.name.encode()) & 0x7FFFFFFF

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & wire.ONEWAY)

    def made(self, answers: Answers, opaque: int | None = None) -> bytes:
        if self.raw is not None:
            return self.raw
        fields = None if self.fields is None else {key: _text(value, answers) for key, value in self.fields.items()}
        body = self.body(answers) if callable(self.body) else self.body
        return wire.request(
            self.code, self.opaque if opaque is None else opaque, fields, body, binary=self.binary, flag=self.flag,
            version=self.version, remark=self.remark,
        )  # fmt: skip


@dataclass(frozen=True)
class Burst:
    """Requests that reach the server in one read, or in reads of so many bytes; on the connection of the first."""

    name: str
    requests: tuple[Request, ...]
    read_size: int = 1 << 20


@dataclass(frozen=True)
class Wait:
    name: str
    seconds: float


@dataclass(frozen=True)
class Close:
    name: str
    on: str


Step: TypeAlias = Request | Burst | Wait | Close


@dataclass(frozen=True)
class Scene:
    """`servers` gives the settings of each, in the order they are started: `broker-a`, `broker-b`, `nameserver`,
    `controller`.
    """

    name: str
    steps: tuple[Step, ...]
    servers: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: {"broker-a": {}})


#: The binary header has two bytes for the code.
_MAX_BINARY_CODE = 0x7FFF


def both(request: Request) -> tuple[Request, ...]:
    """The request in both serializations, or in the one that has room for its code."""
    as_json = replace(request, name=f"{request.name}, json")
    if request.code > _MAX_BINARY_CODE:
        return (as_json,)
    return as_json, replace(request, name=f"{request.name}, binary", binary=True)


def _text(value: Value, answers: Answers) -> str:
    if callable(value):
        value = value(answers)
    return str(value).lower() if isinstance(value, bool) else str(value)
