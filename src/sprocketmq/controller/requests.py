"""The fields of the requests that a controller takes, checked: what names a set or a place is bounded here."""

from __future__ import annotations

from typing import TypeVar

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.fields import quoted
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.java_json import loads
from sprocketmq.remoting.peer import parse_address

H = TypeVar("H")

MAX_NAME_LENGTH = 255
MAX_CHECK_CODE_LENGTH = 512
MAX_NAMES = 10_000

_NAMES = ("cluster_name", "broker_name")
_ADDRESSES = ("broker_address", "broker_addr", "broker_ha_address")
_NEEDED = ("broker_name", "broker_address", "broker_addr", "applied_broker_id", "register_check_code", "master_epoch")


def decode(cls: type[H], request: Command) -> H:
    """The header of `request`; RequestRefused names a field that cannot be used."""
    header = from_ext_fields(cls, request.ext_fields)
    for name in _NEEDED:
        if getattr(header, name, "") is None:
            raise _wrong(f"{cls.__name__} lacks {name}")
    for name in _NAMES:
        check_name(name, getattr(header, name, None))
    for name in _ADDRESSES:
        _check_address(name, getattr(header, name, None))
    _check_code(getattr(header, "register_check_code", None))
    return header


def check_name(field: str, value: str | None) -> None:
    """Names are keys of the engine and stand in logs and answers."""
    if value is not None and not (0 < len(value) <= MAX_NAME_LENGTH and value.isprintable()):
        raise _wrong(f"{field} cannot be {quoted(value)}")


def decode_names(body: bytes) -> list[str]:
    """The names of sets in the body of 1006."""
    names = loads(body) if body else None
    if not isinstance(names, list) or not names or len(names) > MAX_NAMES:
        raise _wrong("not set any response code")  # RocketMQ's words for a request without names
    return [name for name in names if isinstance(name, str)]


def _check_address(field: str, value: str | None) -> None:
    try:
        if value is not None and (len(value) > MAX_NAME_LENGTH or not value.isprintable() or not parse_address(value)):
            raise ValueError(value)
    except ValueError:
        raise _wrong(f"{field} cannot be {quoted(value)}, expected HOST:PORT") from None


def _check_code(value: str | None) -> None:
    if value is None:
        return
    if len(value) > MAX_CHECK_CODE_LENGTH or not value.isprintable():
        raise _wrong(f"register_check_code cannot be {quoted(value)}")
    _check_address("register_check_code", value.partition(";")[0])


def _wrong(remark: str) -> RequestRefused:
    return RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
