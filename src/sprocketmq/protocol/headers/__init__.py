"""The custom headers that are read or written here, grouped by what they are about; a pull's fields are
`requests.pull`'s. The keys and the required fields are RocketMQ's.

`headers.topic` and the other groups are imported when they are first used: declaring all of them would take a command
longer than its work.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sprocketmq.protocol.headers import client as client
    from sprocketmq.protocol.headers import group as group
    from sprocketmq.protocol.headers import kv as kv
    from sprocketmq.protocol.headers import nameserver as nameserver
    from sprocketmq.protocol.headers import offsets as offsets
    from sprocketmq.protocol.headers import query as query
    from sprocketmq.protocol.headers import send as send
    from sprocketmq.protocol.headers import topic as topic
    from sprocketmq.protocol.headers import transaction as transaction

_GROUPS = frozenset({"client", "group", "kv", "nameserver", "offsets", "query", "send", "topic", "transaction"})


def __getattr__(name: str) -> Any:
    if name not in _GROUPS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
