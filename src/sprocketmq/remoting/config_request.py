"""A request that changes a server's configuration: its body has the keys as a properties file, at every server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sprocketmq.codes import ResponseCode
from sprocketmq.config import shown
from sprocketmq.errors import ConfigError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.properties_file import parse_properties
from sprocketmq.protocol.command import Command
from sprocketmq.remoting.connection import Connection


@contextmanager
def config_change(
    connection: Connection, request: Command, events: Events, is_fixed: Callable[[str], bool], wrong: ResponseCode
) -> Iterator[dict[str, str]]:
    """The keys and values of `request`, for a body that changes them; `events` tells what became of it, and by whom.

    A ConfigError of the body refuses the request: with NO_PERMISSION where a key `is_fixed`, else as `wrong`.
    """
    entries = _entries(request, wrong)
    try:
        yield entries
    except ConfigError as error:
        events.warning("configuration change refused", keys=",".join(entries), reason=error, peer=connection.peer)
        code = ResponseCode.NO_PERMISSION if any(map(is_fixed, entries)) else wrong
        raise RequestRefused(code, str(error)) from None
    for key, value in entries.items():
        events.info("configuration changed", key=key, value=shown(key, value), peer=connection.peer)


def _entries(request: Command, wrong: ResponseCode) -> dict[str, str]:
    try:
        return parse_properties(bytes(request.body).decode())
    except UnicodeDecodeError:
        raise RequestRefused(wrong, "the configuration is not UTF-8 text") from None
    except ConfigError as error:
        raise RequestRefused(wrong, str(error)) from None
