"""Making, changing and deleting groups; moving one with a look at old and new before; cloning one's place."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from sprocketmq.client.admin.offsets import Target
from sprocketmq.client.errors import ClientError
from sprocketmq.dashboard.cluster import groups
from sprocketmq.dashboard.web.forms import BadForm, WebForm
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.render import path_part
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import group_fault
from sprocketmq.theme.numbers import counted

_MOST_TRIES, _MOST_QUEUES = 1000, 64
_ASKED = ("topic", "to", "when", "offset")

#: A queue with its offset before, if it has one, and after.
Move = tuple[MessageQueue, int | None, int]


async def new(visit: Visit) -> Response:
    return visit.render("group_form.html", group=None, name="", config=SubscriptionGroupConfig(), wrong="")


async def create(visit: Visit) -> Response:
    return await _apply(visit, await visit.form(), None, SubscriptionGroupConfig())


async def change(visit: Visit) -> Response:
    return visit.render(
        "group_form.html",
        group=visit.path("group"),
        name="",
        config=await _config(visit, visit.path("group")),
        wrong="",
    )


async def changed(visit: Visit) -> Response:
    group = visit.path("group")
    return await _apply(visit, await visit.form(), group, await _config(visit, group))


async def _config(visit: Visit, group: str) -> SubscriptionGroupConfig:
    return next(iter((await visit.view.admin.groups.config(group)).values()))


async def _apply(visit: Visit, form: WebForm, group: str | None, before: SubscriptionGroupConfig) -> Response:
    name = group or form.text("name")
    full = visit.view.full_name(name)
    config = replace(
        before, group_name=full, consume_enable=form.flag("consume"), consume_broadcast_enable=form.flag("broadcast"),
        consume_message_orderly=form.flag("orderly"),
    )  # fmt: skip
    try:
        if (fault := group_fault(full)) is not None:
            raise BadForm(f"Name: {fault}.")
        config = replace(
            config,
            retry_max_times=form.number("tries", "Max retries", 0, _MOST_TRIES),
            retry_queue_nums=form.number("retry_queues", "Retry queues", 1, _MOST_QUEUES),
        )
        where = await visit.view.admin.groups.create(config)
    except (BadForm, ClientError) as error:
        visit.refused("group change" if group else "group create", name, error)
        return visit.render("group_form.html", 400, group=group, name=name, config=config, wrong=str(error))
    visit.changed("group change" if group else "group create", name)
    return visit.see(
        f"/groups/{path_part(name)}", f"Group {name} was {'changed' if group else 'created'} on {', '.join(where)}."
    )


async def ask_delete(visit: Visit) -> Response:
    name = visit.path("group")
    return visit.render("group_delete.html", group=name, figures=await groups.figures(visit.view, name))


async def delete(visit: Visit) -> Response:
    form, name = await visit.form(), visit.path("group")
    if form.text("name") != name:
        raise BadForm("The name does not match: nothing was deleted.")
    where = await visit.view.admin.groups.delete(name, clean_offsets=form.flag("offsets"))
    visit.changed("group delete", name)
    return visit.see("/groups", f"Group {name} was deleted on {', '.join(where)}.")


async def reset(visit: Visit) -> Response:
    """Asks where to; with an answer in the address, shows old and new beside each other and asks whether to do it."""
    group, asked = visit.path("group"), WebForm({name: [value] for name, value in visit.request.query_params.items()})
    topics = (await groups.figures(visit.view, group)).topics
    shown: dict[str, Any] = {
        "group": group,
        "topics": topics,
        "asked": {each: asked.text(each) for each in _ASKED},
        "wrong": "",
    }
    rows = []
    if asked.text("to"):
        try:
            rows = await _moves(visit, group, asked.needed("topic", "Topic"), target_of(asked))
        except BadForm as error:
            shown["wrong"] = str(error)
    return visit.render("group_reset.html", 400 if shown["wrong"] else 200, rows=rows, effect=_effect(rows), **shown)


async def _moves(visit: Visit, group: str, topic: str, target: Target) -> list[Move]:
    old, new = await asyncio.gather(
        visit.view.admin.offsets.get(group, topic), visit.view.admin.offsets.preview(topic, target)
    )
    return [(queue, old.get(queue), at) for queue, at in new.items()]


def _effect(rows: list[Move]) -> str:
    """What the moves mean for the group; a queue without an offset has no place to be moved from."""
    steps = [new - old for _, old, new in rows if old is not None]
    skipped, again = sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0)
    said = [f"{counted(skipped, 'message')} will be skipped"] if skipped else []
    said += [f"{counted(again, 'message')} will be consumed again"] if again else []
    first = len(rows) - len(steps)
    said += [f"{counted(first, 'queue')} will get a first offset"] if first else []
    return ", ".join(said) or "No offset changes"


def target_of(form: WebForm) -> Target:
    match form.text("to"):
        case "first":
            return "first"
        case "last":
            return "last"
        case "time":
            return form.moment("when", "Time")
        case "offset":
            return form.number("offset", "Offset", 0, 2**62)
    raise BadForm("Reset to: choose the latest or earliest offset, a time or an offset.")


async def moved(visit: Visit) -> Response:
    form, group = await visit.form(), visit.path("group")
    topic, target = form.needed("topic", "Topic"), target_of(form)
    await visit.view.admin.offsets.reset(group, topic, target)
    visit.changed("group reset", f"{group} in {topic} to {target}")
    to = {"first": "the earliest offset", "last": "the latest offset"}.get(str(target), str(target))
    return visit.see(f"/groups/{path_part(group)}", f"Offsets of {group} in {topic} were reset to {to}.")


async def clone(visit: Visit) -> Response:
    group = visit.path("group")
    topics = (await groups.figures(visit.view, group)).topics
    return visit.render("group_clone.html", group=group, topics=topics)


async def cloned(visit: Visit) -> Response:
    form, group = await visit.form(), visit.path("group")
    target, topic = form.needed("target", "Target group"), form.needed("topic", "Topic")
    if (fault := group_fault(visit.view.full_name(target))) is not None:
        raise BadForm(f"Target group: {fault}.")
    if all(at is None for at in (await visit.view.admin.offsets.get(group, topic)).values()):
        raise BadForm(f"Group {group} has no committed offset in {topic}: there is nothing to clone.")
    await visit.view.admin.offsets.clone(group, target, topic)
    visit.changed("group clone", f"{group} to {target} in {topic}")
    return visit.see(f"/groups/{path_part(target)}", f"Offsets of {group} in {topic} were cloned to {target}.")


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/new/group", new),
    ("POST", "/new/group", create),
    ("GET", "/groups/{group}/change", change),
    ("POST", "/groups/{group}/change", changed),
    ("GET", "/groups/{group}/delete", ask_delete),
    ("POST", "/groups/{group}/delete", delete),
    ("GET", "/groups/{group}/reset", reset),
    ("POST", "/groups/{group}/reset", moved),
    ("GET", "/groups/{group}/clone", clone),
    ("POST", "/groups/{group}/clone", cloned),
]
