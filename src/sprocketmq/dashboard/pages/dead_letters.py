"""Dead letters: which groups have some, what they are, as a file, and back to the group: one, many, all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse

from sprocketmq.client.received import ReceivedMessage
from sprocketmq.dashboard.cluster import browse, dead_letters
from sprocketmq.dashboard.draw.body import row_of
from sprocketmq.dashboard.jobs.job import Job
from sprocketmq.dashboard.jobs.resend import resend
from sprocketmq.dashboard.pages.jobs import jobs_of
from sprocketmq.dashboard.web.forms import BadForm
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.paging import page_of
from sprocketmq.dashboard.web.render import path_part
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
    return visit.render(
        "letters_of.html", group=group, letters=found, shown=shown, more=more, row_of=row_of,
        jobs=await jobs_of(visit, _kind(group)),
    )  # fmt: skip


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


async def start_resend(visit: Visit) -> Response:
    """The group, and no other, tries them again. They stay in the dead-letter queue as well.

    Those that were chosen fit on a page and are waited for; all of them may take long.
    """
    form, group = await visit.form(), visit.path("group")
    places = None if form.text("which") == "all" else form.all("letter")
    back = f"/letters/{path_part(group)}"

    def note(sent: int, outcome: str) -> None:
        visit.console.audit.note(visit.account or "-", visit.peer, "letters resend", f"{sent} of {group}", outcome)

    job = Job(_kind(group), f"resend dead letters to {group}", (back, group), group, visit.account)
    visit.console.jobs.start(job, resend(visit.view.options, group, places, note))
    if places is None:
        return visit.see(f"/jobs/{job.name}")
    await visit.console.jobs.wait(job)
    return visit.see(back, job.said) if job.state == "done" else visit.see(f"/jobs/{job.name}")


def _kind(group: str) -> str:
    """One at a time for each group."""
    return f"resend to {group}"


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/letters", listing),
    ("GET", "/letters/{group}", of_group),
    ("GET", "/letters/{group}/export", export),
    ("POST", "/letters/{group}/choose", ask_resend),
    ("POST", "/letters/{group}/resend", start_resend),
]
