"""Dead letters: which groups have some, what they are, as a file, and back to the group: one, many, all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse

from sprocketmq.client.errors import ClientError
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.dashboard.cluster import browse, dead_letters
from sprocketmq.dashboard.draw.body import row_of
from sprocketmq.dashboard.web.forms import BadForm
from sprocketmq.dashboard.web.page_guard import Handler, verdict
from sprocketmq.dashboard.web.paging import page_of
from sprocketmq.dashboard.web.render import counted, path_part
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.errors import BodyError


async def listing(visit: Visit) -> Response:
    page = page_of(await dead_letters.groups(visit.view), visit.query("q"), visit.query("page", "1"))
    return visit.render("letters.html", page=page, rows=await dead_letters.rows(visit.view, page.items))


async def of_group(visit: Visit) -> Response:
    group = visit.path("group")
    found = await dead_letters.of(visit.view, group)
    places = browse.decode(visit.view.full_name(found.topic), visit.query("c"), found.ends)
    shown = await dead_letters.newest(visit.view, found, places) if found.ends else browse.FoundMessages([], None, 0)
    more = None if shown.places is None else f"?c={browse.encode(shown.places)}"
    return visit.render("letters_of.html", group=group, letters=found, shown=shown, more=more, row_of=row_of)


async def export(visit: Visit) -> Response:
    """Every letter as a line of JSON, as `sprocket dlq show --json` tells them."""
    group = visit.path("group")
    found = await dead_letters.of(visit.view, group)

    async def lines() -> AsyncIterator[bytes]:
        async for message in dead_letters.every(visit.view, found):
            yield orjson.dumps(_row(message)) + b"\n"

    headers = {"Content-Disposition": f'attachment; filename="dead-letters-{path_part(group)}.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)


def _row(message: ReceivedMessage) -> dict[str, Any]:
    return {
        "id": message.message_id, "topic": message.topic, "broker": message.broker_name, "queue": message.queue_id,
        "offset": message.queue_offset, "tag": message.tag, "keys": list(message.keys),
        "stored": message.stored_at.isoformat(), "tries": message.reconsume_times,
        "properties": dict(message.properties), **_body(message),
    }  # fmt: skip


def _body(message: ReceivedMessage) -> dict[str, Any]:
    """What cannot be inflated is told as it is stored: it may be why the letter is here."""
    try:
        body = message.body
    except BodyError as error:
        return {"body": None, "body_hex": message.record.body.hex(), "unreadable": str(error)}
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body": None, "body_hex": body.hex()}


async def ask_resend(visit: Visit) -> Response:
    """How many will be sent back, before they are."""
    form, group = await visit.form(), visit.path("group")
    places = form.all("letter")
    everything = form.text("which") == "all"
    count = (await dead_letters.of(visit.view, group)).count if everything else len(places)
    if not count:
        raise BadForm("No dead letter was selected.")
    return visit.render("letters_resend.html", group=group, count=count, places=[] if everything else places)


async def resend(visit: Visit) -> Response:
    """The group, and no other, tries them again. They stay in the dead-letter queue as well."""
    form, group = await visit.form(), visit.path("group")
    if form.text("which") == "all":
        letters = dead_letters.every(visit.view, await dead_letters.of(visit.view, group))
    else:
        letters = dead_letters.chosen(visit.view, group, form.all("letter"))
    sent, failure = 0, None
    try:
        async for message in letters:
            await visit.view.admin.messages.give_back(group, message)
            sent += 1
    except ClientError as error:
        failure = error
    if sent:  # also those that went before a failure
        visit.changed("letters resend", f"{sent} of {group}")
    said = f"{counted(sent, 'message')} {'was' if sent == 1 else 'were'} resent to {group}."
    if failure is not None:
        status, why = verdict(failure)
        return visit.render("error.html", status, status=status, text=f"{said} Then it failed: {why}")
    return visit.see(f"/letters/{path_part(group)}", said)


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/letters", listing),
    ("GET", "/letters/{group}", of_group),
    ("GET", "/letters/{group}/export", export),
    ("POST", "/letters/{group}/choose", ask_resend),
    ("POST", "/letters/{group}/resend", resend),
]
