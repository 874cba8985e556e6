"""Whether a send that failed is worth another try, because its broker may have another master in a moment.

That is so where a broker has slaves. Until one of them has registered as the master, nameservers know the broker
without a master, or do not know it at all, so slaves that were seen before count too.
"""

from __future__ import annotations

import asyncio

from sprocketmq.client.cluster.route import Route
from sprocketmq.client.cluster.routes import RouteCache
from sprocketmq.client.errors import ClientError, NoRoute
from sprocketmq.protocol.message_queue import MessageQueue

PAUSE_S = 0.05  # before the same queue is tried again


async def may_elect(routes: RouteCache, topic: str, deadline: float, queue: MessageQueue | None = None) -> bool:
    """Look who is the master now, and say after a pause whether to try again: on `queue`, or anywhere.

    A topic that nobody has any more may be between two masters, though its slaves were never seen; one that nobody ever
    had is not. What belongs to a queue is not sent twice for that: its broker may come back as it was.
    """
    if asyncio.get_running_loop().time() + PAUSE_S >= deadline:
        return False
    known, found, is_gone = routes.known(topic), None, False
    try:
        async with asyncio.timeout_at(deadline):
            found = await routes.fetch(topic)
    except NoRoute:
        is_gone = True
    except (ClientError, TimeoutError):
        pass  # the nameservers are away themselves, and tell nothing
    if queue is not None:
        may_change = queue.broker_name in routes.replicated or _has_moved(known, found, queue.broker_name)
    else:
        brokers = {name for route in (known, found) if route is not None for name in route.addresses}
        is_changed = is_gone or (found is not None and known is not None and found.addresses != known.addresses)
        may_change = bool(brokers & routes.replicated) or (known is not None and is_changed)
    if may_change:
        await asyncio.sleep(PAUSE_S)
    return may_change


def _has_moved(known: Route | None, found: Route | None, broker_name: str) -> bool:
    """Whether the master has another address: its slaves were not seen, but one of them is the master now."""
    if known is None or found is None:
        return False
    return found.master(broker_name) not in (None, known.master(broker_name))
