"""Names as users give them: checked where they are given, and put into the client's namespace.

Brokers refuse a bad name, or make nothing of it in silence; so it raises here, and says which field it was.
"""

from __future__ import annotations

from sprocketmq.client.errors import InvalidName
from sprocketmq.client.options import ClientOptions
from sprocketmq.protocol.names import group_fault, topic_fault, with_namespace


def full_group(options: ClientOptions, group: str) -> str:
    """The group as brokers know it; of a client that names none, its URL's."""
    group = group or options.group
    full = with_namespace(options.namespace, _text("group", group))
    if (fault := group_fault(full)) is not None:
        raise InvalidName(f"group={group!r}: {fault}")
    return full


def full_topic(namespace: str, topic: str) -> str:
    """The topic as brokers know it."""
    full = with_namespace(namespace, _text("topic", topic))
    if (fault := topic_fault(full)) is not None:
        raise InvalidName(f"topic={topic!r}: {fault}")
    return full


def _text(field: str, name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{field} is a str, not {type(name).__name__}")
    if not name:
        raise InvalidName(f"{field}={name!r}: the {field} is blank")
    return name
