"""Whether brokers want to know who asks, and whether they know these keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from sprocketmq.client.errors import ClientError, NoBroker, Refused
from sprocketmq.codes import ResponseCode
from sprocketmq.dashboard.cluster.view import ClusterView


async def wants_keys(view: ClusterView) -> bool:
    """Whether a broker refuses to tell of itself for want of a right; raises when none of them answers."""
    try:
        await first_word(view, view.admin.brokers.runtime)
    except Refused as error:
        if error.code == ResponseCode.NO_PERMISSION:
            return True
        raise
    return False


async def check_keys(view: ClusterView) -> None:
    """Raises what the broker says when it does not know the keys. Which rights the account has is no matter here."""
    await first_word(view, view.admin.brokers.greet)


async def first_word(view: ClusterView, ask: Callable[[str], Awaitable[object]]) -> None:
    """Asks all brokers at once: one that hangs must not keep us from what the others say."""
    table = (await view.cluster()).broker_addr_table.values()
    if not (addresses := [address for data in table for address in data.broker_addrs.values()]):
        raise NoBroker("any broker")
    asked = [asyncio.ensure_future(ask(address)) for address in addresses]
    try:
        silent: ClientError | None = None
        for answer in asyncio.as_completed(asked):
            try:
                await answer
            except Refused:
                raise
            except ClientError as error:
                silent = error
            else:
                return
        assert silent is not None
        raise silent
    finally:
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
