"""Messages of a topic, and one of them: its body, its properties, who consumed it, its trace; sending it again."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from sprocketmq.client.admin.core import if_known
from sprocketmq.client.admin.resent_messages import copy_of
from sprocketmq.client.errors import ClientError
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.dashboard.cluster import browse, topics
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.dashboard.draw.body import FORMS, best_form, cut_at, drawn, row_of
from sprocketmq.dashboard.draw.timeline import steps, timeline
from sprocketmq.dashboard.web.forms import BadForm, WebForm
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere, verdict
from sprocketmq.dashboard.web.render import path_part
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.errors import BodyError, FilterError
from sprocketmq.filter.sql import compile_sql
from sprocketmq.protocol.message_queue import MessageQueue

FROM = {
    "newest": "newest first", "oldest": "oldest first", "time": "from a time", "offset": "from an offset",
    "key": "by key", "id": "by message id",
}  # fmt: skip


async def listing(visit: Visit) -> Response:
    topic = visit.path("topic")
    names = ("from", "at", "queue", "tag", "sql", "c")
    asked = {name: visit.query(name) for name in names}
    asked["from"] = asked["from"] if asked["from"] in FROM else "newest"
    figures = await topics.figures(visit.view, topic)
    status, wrong, found = 200, "", browse.FoundMessages([], None, 0)
    try:
        found = await _found(visit.view, topic, figures.queues, asked)
    except (BadForm, FilterError, ClientError) as error:
        status, wrong = verdict(error)
    more = None
    if found.places is not None:
        kept = {name: value for name, value in asked.items() if value and name != "c"}
        more = "?" + urlencode({**kept, "c": browse.encode(found.places)})
    return visit.render(
        "messages.html", status, topic=topic, asked=asked, choices=FROM, wrong=wrong, found=found,
        more=more, queues=sorted(figures.queues), row_of=row_of, is_filtered=bool(asked["tag"] or asked["sql"]),
        most_queues=browse.MOST_QUEUES,
    )  # fmt: skip


async def _found(
    view: ClusterView, topic: str, queues: dict[MessageQueue, Any], asked: dict[str, str]
) -> browse.FoundMessages:
    at = asked["at"]
    if asked["from"] == "key":
        found = await view.admin.messages.find(topic, _needed(at, "A key"), limit=browse.SHOWN)
        return browse.FoundMessages(found, None, len(found))
    if asked["from"] == "id":
        return browse.FoundMessages([await view.admin.messages.get(_needed(at, "An id"), topic)], None, 1)
    ends = {
        queue: (offset.min_offset, offset.max_offset)
        for queue, offset in queues.items()
        if not asked["queue"] or asked["queue"] == f"{queue.broker_name}:{queue.queue_id}"
    }
    ends = dict(list(ends.items())[: browse.MOST_QUEUES])
    wanted = browse.BrowseRequest(topic, ends, asked["tag"] or "*", compile_sql(asked["sql"]) if asked["sql"] else None)
    going_on = browse.decode(view.full_name(topic), asked["c"], ends)
    if asked["from"] == "newest":
        return await browse.before(view, wanted, going_on or {queue: end for queue, (_, end) in ends.items()})
    return await browse.after(view, wanted, going_on or await _begins(view, topic, ends, asked))


def _needed(text: str, what: str) -> str:
    if not text:
        raise BadForm(f"{what} is required.")
    return text


async def _begins(view: ClusterView, topic: str, ends: Any, asked: dict[str, str]) -> browse.Places:
    form = WebForm({"at": [asked["at"]]})
    if asked["from"] == "oldest":
        return {queue: first for queue, (first, _) in ends.items()}
    if asked["from"] == "offset":
        number = form.number("at", "Offset", 0, 2**62)
        return {queue: min(max(number, first), end) for queue, (first, end) in ends.items()}
    places = await view.admin.offsets.preview(topic, form.moment("at", "Time"))
    return {queue: min(max(places.get(queue, end), first), end) for queue, (first, end) in ends.items()}


async def find(visit: Visit) -> Response:
    """By an id alone, wherever the message is."""
    message_id = visit.query("id")
    if not message_id:
        raise BadForm("Enter a message id.")
    found = await visit.view.admin.messages.get(message_id)
    return RedirectResponse(place_of(found), 303)


def place_of(message: ReceivedMessage) -> str:
    parts = (message.stored_topic, message.broker_name, message.queue_id, message.queue_offset)
    return "/messages/" + "/".join(path_part(part) for part in parts)


async def _message(visit: Visit) -> ReceivedMessage:
    queue, offset = visit.path("queue"), visit.path("offset")
    if not queue.isdecimal() or not offset.isdecimal() or len(offset) > 19 or len(queue) > 9:
        raise PageNotThere("A message is addressed by a queue and an offset.")
    place = MessageQueue(visit.view.full_name(visit.path("topic")), visit.path("broker"), int(queue))
    found = await visit.view.admin.messages.at(place, int(offset))
    if found is None:
        raise PageNotThere(f"There is no message, or no longer one, at offset {int(offset):,} of {place}.")
    return found


async def message(visit: Visit) -> Response:
    found = await _message(visit)
    admin = visit.view.admin
    tracks, records = await asyncio.gather(
        if_known(admin.messages.track(found)), if_known(admin.messages.trace(found.message_id))
    )
    try:
        body, unreadable = found.body, ""
    except BodyError as error:
        body, unreadable = b"", str(error)
    form = visit.query("as") if visit.query("as") in FORMS else best_form(body)
    trace = steps(records or [])
    return visit.render(
        "message.html", message=found, body=drawn(body, form), size=len(body), form=form, forms=FORMS, tracks=tracks,
        cut=cut_at(body, form),
        unreadable=unreadable, properties=sorted(found.properties.items()), trace=trace, timeline=timeline(trace),
        place=place_of(found), kind=topics.kind_of(found.topic),
    )  # fmt: skip


async def raw(visit: Visit) -> Response:
    """The body as a file; never as something that a browser would show."""
    found = await _message(visit)
    headers = {"Content-Disposition": f'attachment; filename="{found.offset_message_id}.bin"'}
    return Response(found.body, media_type="application/octet-stream", headers=headers)


async def resend(visit: Visit) -> Response:
    """A copy to the topic that its sender named, for everyone who consumes that."""
    await visit.form()
    found = await _message(visit)
    producer = await visit.view.producer()
    receipt = await producer.send(copy_of(found, found.topic))
    visit.changed("message resend", f"{found.message_id} to {found.topic}")
    return visit.see(place_of(found), f"Sent again to {found.topic}; the copy is {receipt.message_id}.")


async def consume(visit: Visit) -> Response:
    """Have one connected consumer of a group consume the message now."""
    form, found = await visit.form(), await _message(visit)
    group = form.needed("group", "Group")
    members = (await visit.view.admin.groups.connection(group)).connection_set
    client = form.text("client") or min(member.client_id for member in members)
    result = await visit.view.admin.messages.consume_directly(group, client, found.offset_message_id)
    visit.changed("message consume", f"{found.message_id} by {client} of {group}")
    outcome = result.consume_result.name if result.consume_result is not None else "no result"
    return visit.see(place_of(found), f"{client} of {group} answered {outcome} after {result.spent_time_mills} ms.")


_PLACE = "/messages/{topic}/{broker}/{queue}/{offset}"
ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/topics/{topic}/messages", listing),
    ("GET", "/find", find),
    ("GET", _PLACE, message),
    ("GET", f"{_PLACE}/raw", raw),
    ("POST", f"{_PLACE}/resend", resend),
    ("POST", f"{_PLACE}/consume", consume),
]
