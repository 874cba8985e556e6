"""Sending a message from the page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from starlette.responses import Response

from sprocketmq.client.errors import ClientError
from sprocketmq.client.message import Message
from sprocketmq.dashboard.web.forms import BadForm, WebForm
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.render import path_part
from sprocketmq.dashboard.web.visit import Visit

_MOST_DELAY_S = 10 * 365 * 86_400
_FIELDS = ("body", "tag", "keys", "properties", "sharding_key", "delay")


async def ask(visit: Visit) -> Response:
    return _form(visit, dict.fromkeys(_FIELDS, ""), "")


def _form(visit: Visit, given: dict[str, str], wrong: str) -> Response:
    return visit.render("send.html", 400 if wrong else 200, topic=visit.path("topic"), given=given, wrong=wrong)


async def send(visit: Visit) -> Response:
    form, topic = await visit.form(), visit.path("topic")
    try:
        message = Message(topic, form.raw("body").encode(), **_parts(form))
        receipt = await (await visit.view.producer()).send(message)
    except (BadForm, ClientError) as error:
        visit.refused("message send", topic, error)
        return _form(visit, {name: form.raw(name) for name in _FIELDS}, str(error))
    visit.changed("message send", f"{receipt.message_id} to {topic}")
    return visit.see(f"/topics/{path_part(topic)}/messages", f"Sent {receipt.message_id} to {receipt.queue}.")


def _parts(form: WebForm) -> dict[str, Any]:
    parts: dict[str, Any] = {"keys": form.text("keys").split(), "properties": _properties(form.raw("properties"))}
    for name in ("tag", "sharding_key"):
        if form.text(name):
            parts[name] = form.text(name)
    if form.text("delay"):
        parts["delay"] = timedelta(seconds=form.number("delay", "Delay", 1, _MOST_DELAY_S))
    return parts


def _properties(text: str) -> dict[str, str]:
    found = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        key, separator, value = line.partition("=")
        if not separator or not key.strip():
            raise BadForm(f"Properties: {line!r} is not NAME=VALUE.")
        found[key.strip()] = value.strip()
    return found


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/topics/{topic}/send", ask),
    ("POST", "/topics/{topic}/send", send),
]
