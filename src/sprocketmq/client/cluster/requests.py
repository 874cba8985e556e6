"""What a request is made of and what its answer tells: the part of a call that needs no connection."""

from __future__ import annotations

from typing import TypeVar

from sprocketmq.client.errors import Refused
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields

H = TypeVar("H")


def request(code: int, header: object | None = None, body: bytes = b"", **extra: str) -> Command:
    """A request with the custom header `header`; `extra` are fields that no header class declares.

    What every client sends gives its header as a dict: a command would wait longer for the classes than for the answer.
    """
    ext = {} if header is None else {**header} if isinstance(header, dict) else to_ext_fields(header)
    return Command(code, ext_fields={**ext, **extra} or None, body=body)


def check(answer: Command, address: str = "") -> Command:
    """The answer itself when it tells success; raises Refused otherwise."""
    if answer.code != ResponseCode.SUCCESS:
        raise Refused(answer.code, answer.remark, address)
    return answer


def header_of(cls: type[H], answer: Command) -> H:
    return from_ext_fields(cls, answer.ext_fields)
