"""Attributes of topics and groups: `+name=value` sets one, `-name` removes it; only known names and values count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused


@dataclass(frozen=True, slots=True)
class Attribute:
    """`takes` says which values it may have; one that is not `changeable` is set when its owner is created."""

    takes: Callable[[str], bool]
    changeable: bool = True


def one_of(*values: str) -> Callable[[str], bool]:
    return lambda text: text in values


def at_least(low: int) -> Callable[[str], bool]:
    return lambda text: text.removeprefix("-").isdecimal() and int(text) >= low


TOPIC_ATTRIBUTES = {
    "queue.type": Attribute(one_of("SimpleCQ"), changeable=False),
    "cleanup.policy": Attribute(one_of("DELETE"), changeable=False),
    "message.type": Attribute(one_of("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED")),
    "reserve.time": Attribute(at_least(-1)),
}
GROUP_ATTRIBUTES = {"priority.factor": Attribute(at_least(0))}


def parse(text: str) -> dict[str, str]:
    """The changes of a text such as `+message.type=FIFO,-reserve.time`."""
    changes = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = part.partition("=")
        changes[name.strip()] = value.strip()
    return changes


def altered(
    known: Mapping[str, Attribute], current: Mapping[str, str] | None, changes: Mapping[str, str]
) -> dict[str, str]:
    """The attributes after `changes`; `current` is None for an owner that is new."""
    result = dict(current or {})
    for change, value in changes.items():
        sign, name = change[:1], change[1:]
        if sign not in "+-" or name not in known:
            raise _refused(f"{change}: expected +NAME=VALUE or -NAME, with a NAME of {', '.join(known)}")
        if current is not None and not known[name].changeable and current.get(name) != value:
            raise _refused(f"{name} cannot be changed any more")
        if sign == "-":
            result.pop(name, None)
        elif known[name].takes(value):
            result[name] = value
        else:
            raise _refused(f"{name} cannot be {value!r} here")
    return result


def _refused(remark: str) -> RequestRefused:
    return RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
