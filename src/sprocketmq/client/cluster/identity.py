"""Who this client is: ids that no two clients share, in one process or in many, on one host or in many containers."""

from __future__ import annotations

import functools
import itertools
import os
import socket
import time

from sprocketmq.protocol.record.ids import UniqueIds

_serial = itertools.count(1)


def local_address() -> str:
    """The address this host uses for others: UDP `connect` picks a route and sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address: str = probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"
    return address


def client_id(instance_name: str = "", unit_name: str = "") -> str:
    """`ip@instance[@unit]`. Process id, clock and serial number make the instance unlike any other, also after fork."""
    instance = instance_name or f"{os.getpid()}#{time.time_ns()}#{next(_serial)}"
    return "@".join(part for part in (local_address(), instance, unit_name) if part)


@functools.cache
def _ids() -> UniqueIds:
    return UniqueIds(socket.inet_aton(local_address()), lambda: time.time_ns() // 1_000_000)


def unique_key() -> str:
    """A new message id."""
    return _ids().next()


def id_block(count: int) -> tuple[str, int]:
    """New message ids, of one moment: see `UniqueIds.block`."""
    return _ids().block(count)
