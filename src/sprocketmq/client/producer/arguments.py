"""What the calls of a producer take: anything else raises TypeError or ValueError at once, and says which argument.

Compiled code takes None for any object and would read through it; so nothing that is not a message gets that far.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import Any

from sprocketmq.client.message import Message
from sprocketmq.protocol.message_queue import MessageQueue


def check_message(given: Any) -> None:
    if not isinstance(given, Message):
        raise not_a_message(given)


def not_a_message(given: Any) -> TypeError:
    what = "the class itself" if given is Message else type(given).__name__
    return TypeError(f"message must be a Message, not {what}")


def message_list(given: Iterable[Message]) -> list[Message]:
    """A generator is as good as a list."""
    if not isinstance(given, Iterable):
        raise TypeError(f"messages must be a list of Message, not {type(given).__name__}")
    messages = list(given)
    for message in messages:
        check_message(message)
    return messages


def check_timeout(timeout: Any) -> None:
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number of seconds, not {type(timeout).__name__}")
    if isnan(timeout):
        raise ValueError("timeout must be a number of seconds, not nan")


def check_queue(queue: Any, topic: str) -> None:
    """`queue` may be one that the route does not list, but not another topic's: the message would be stored there."""
    if not isinstance(queue, MessageQueue):
        raise TypeError(f"queue must be a MessageQueue, not {type(queue).__name__}; a selector must return one")
    if queue.topic != topic:
        raise ValueError(f"the queue {queue} does not belong to topic {topic}")
