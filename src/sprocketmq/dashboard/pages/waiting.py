"""What waits: delays, timers, transactions, POP in flight."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from sprocketmq.client.admin.core import if_known
from sprocketmq.client.errors import NoBroker
from sprocketmq.dashboard.cluster import waiting
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import TRANSACTION_CHECK_MAX_TOPIC

_FRESH_S = 3.0


async def shown(visit: Visit) -> Response:
    view = visit.view
    if not await view.masters():
        raise NoBroker("a master")  # what nobody tells of is not nothing
    delays, timers, transactions = await asyncio.gather(
        view.snapshots.get("delays", _FRESH_S, lambda: if_known(waiting.delays(view))),
        view.snapshots.get("timers", _FRESH_S, lambda: if_known(waiting.timers(view))),
        view.snapshots.get("transactions", _FRESH_S, lambda: if_known(waiting.transactions(view))),
    )
    return visit.render("waiting.html", delays=delays, timers=timers, transactions=transactions, most=waiting.READ)


async def check_again(visit: Visit) -> Response:
    """Have the producer asked again about a half message that was given up."""
    form = await visit.form()
    broker, offset = form.needed("broker", "Broker"), form.number("offset", "Offset", 0, 2**62)
    message = await visit.view.admin.messages.at(MessageQueue(TRANSACTION_CHECK_MAX_TOPIC, broker, 0), offset)
    if message is None:
        raise PageNotThere("This half message no longer exists.")
    await visit.view.admin.messages.check_again(message)
    visit.changed("transaction check", message.message_id)
    return visit.see("/waiting", f"{message.message_id} will be checked again.")


ROUTES: list[tuple[str, str, Handler]] = [("GET", "/waiting", shown), ("POST", "/waiting/check", check_again)]
