"""Instances shared by the clients of one event loop that have the same options."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.options import ClientOptions

_instances: WeakKeyDictionary[asyncio.AbstractEventLoop, list[ClientInstance]] = WeakKeyDictionary()
_users: dict[ClientInstance, int] = {}


def acquire(options: ClientOptions, *, producer: str | None = None, consumer: str | None = None) -> ClientInstance:
    """A running instance that has no such member yet. Give it back with `release`."""
    here = _instances.setdefault(asyncio.get_running_loop(), [])
    for instance in here:
        if instance.options == options and instance.claim(producer=producer, consumer=consumer):
            break
    else:
        instance = ClientInstance(options)
        instance.claim(producer=producer, consumer=consumer)
        instance.start()
        here.append(instance)
    _users[instance] = _users.get(instance, 0) + 1
    return instance


async def release(instance: ClientInstance, *, producer: str | None = None, consumer: str | None = None) -> None:
    """The last user stops it."""
    instance.unclaim(producer=producer, consumer=consumer)
    _users[instance] -= 1
    if _users[instance] > 0:
        return
    del _users[instance]
    _instances.get(asyncio.get_running_loop(), []).remove(instance)
    await instance.stop()
