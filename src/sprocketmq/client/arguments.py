"""What the calls of clients take: anything else raises TypeError or ValueError at once, and says which argument.

Compiled code takes None for any object and would read through it; so nothing that is not a message gets that far. And a
wrong offset or number would stop a task in the background, far from whoever gave it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import isnan
from typing import Any, TypeVar

from sprocketmq.client.message import Message
from sprocketmq.protocol.message_queue import MessageQueue

T = TypeVar("T")


def check_message(given: Any) -> None:
    if not isinstance(given, Message):
        raise not_a_message(given)


def not_a_message(given: Any) -> TypeError:
    what = "the class itself" if given is Message else type(given).__name__
    return TypeError(f"message must be a Message, not {what}")


def message_list(given: Iterable[Message]) -> list[Message]:
    return _list_of("messages", "Message", given, check_message)


def check_timeout(timeout: Any) -> None:
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number of seconds, not {type(timeout).__name__}")
    if isnan(timeout):
        raise ValueError("timeout must be a number of seconds, not nan")


def check_wait(timeout: Any) -> None:
    """As a timeout, or None: for ever."""
    if timeout is not None:
        check_timeout(timeout)


def check_whole(name: str, given: Any, least: int = 0) -> None:
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{name} must be a whole number, not {type(given).__name__}")
    if not least <= given < 1 << 63:
        raise ValueError(f"{name} must be at least {least} and fit in 64 bits, not {given}")


def check_time(given: Any) -> None:
    if not isinstance(given, datetime):
        raise TypeError(f"when must be a datetime, not {type(given).__name__}")


def check_queue(given: Any) -> None:
    if not isinstance(given, MessageQueue):
        raise TypeError(f"queue must be a MessageQueue, not {type(given).__name__}")


def queue_list(given: Iterable[MessageQueue]) -> list[MessageQueue]:
    return _list_of("queues", "MessageQueue", given, check_queue)


def _list_of(name: str, kind: str, given: Iterable[T], check: Callable[[Any], None]) -> list[T]:
    """A generator is as good as a list."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of {kind}, not {type(given).__name__}")
    items = list(given)
    for item in items:
        check(item)
    return items


def check_positions(given: Any) -> None:
    """Offsets by queue."""
    if not isinstance(given, Mapping):
        raise TypeError(f"positions must be a dict of offsets by MessageQueue, not {type(given).__name__}")
    for queue, offset in given.items():
        check_queue(queue)
        check_whole("offset", offset)
