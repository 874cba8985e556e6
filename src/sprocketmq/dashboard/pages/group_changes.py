"""Making, changing and deleting groups; moving one with a look at old and new before; cloning one's place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from sprocketmq.client.admin.offsets import Target
from sprocketmq.client.errors import ClientError
from sprocketmq.dashboard.cluster import groups
from sprocketmq.dashboard.web.forms import EVERY_BROKER, BadForm, WebForm, chosen_brokers
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.render import path_part
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import group_fault
from sprocketmq.theme.numbers import counted

#: The settings of the form: its name of each, and for numbers what they are called and may be.
FLAGS = {
    "consume_enable": "consume", "consume_broadcast_enable": "broadcast", "consume_message_orderly": "orderly",
}  # fmt: skip
NUMBERS = {
    "retry_max_times": ("tries", "Max retries", 0, 1000), "retry_queue_nums": ("retry_queues", "Retry queues", 1, 64),
}  # fmt: skip
FIELDS = (*FLAGS, *NUMBERS)
_ASKED = ("topic", "to", "when", "offset")

Configs = Mapping[str, SubscriptionGroupConfig]
#: A queue with its offset before, if it has one, and after.
Move = tuple[MessageQueue, int | None, int]


async def new(visit: Visit) -> Response:
    return _form(visit, None, SubscriptionGroupConfig())


async def create(visit: Visit) -> Response:
    return await _apply(visit, await visit.form(), None, {})


async def change(visit: Visit) -> Response:
    """As it is on the broker that was asked for, else on the first."""
    configs, broker = await visit.view.admin.groups.config(visit.path("group")), visit.query("broker")
    config = configs.get(broker) or next(iter(configs.values()))
    return _form(visit, visit.path("group"), config, configs, broker if broker in configs else "")


async def changed(visit: Visit) -> Response:
    group = visit.path("group")
    return await _apply(visit, await visit.form(), group, await visit.view.admin.groups.config(group))


def _form(
    visit: Visit, group: str | None, config: SubscriptionGroupConfig, configs: Configs | None = None,
    chosen: str = "", name: str = "", wrong: str = "",
) -> Response:  # fmt: skip
    return visit.render(
        "group_form.html", 400 if wrong else 200, group=group, name=name, config=config, configs=configs or {},
        differ=_differ(configs or {}), chosen=chosen, every=EVERY_BROKER, wrong=wrong,
    )  # fmt: skip


def _differ(configs: Configs) -> bool:
    """Whether brokers have different settings, of those that the form has."""
    return len({tuple(getattr(config, field) for field in FIELDS) for config in configs.values()}) > 1


async def _apply(visit: Visit, form: WebForm, group: str | None, configs: Configs) -> Response:
    """One form makes and changes; what is wrong with it is said above it, with all that was typed."""
    name, broker = group or form.text("name"), form.text("broker")
    full, action = visit.view.full_name(name), "group change" if group else "group create"
    settings: dict[str, Any] = {field: form.flag(each) for field, each in FLAGS.items()}
    shown = replace(next(iter(configs.values()), SubscriptionGroupConfig()), group_name=full, **settings)
    try:
        settings |= {field: form.number(*limits) for field, limits in NUMBERS.items()}
        shown = replace(shown, **settings)
        if (fault := group_fault(full)) is not None:
            raise BadForm(f"Name: {fault}.")
        places = chosen_brokers(broker, configs, differ=_differ(configs))
        where = await _put(visit, {each: configs.get(each or "", shown) for each in places}, settings)
    except (BadForm, ClientError) as error:
        visit.refused(action, name, error)
        return _form(visit, group, shown, configs, broker, name, str(error))
    visit.changed(action, name)
    return visit.see(
        f"/groups/{path_part(name)}", f"Group {name} was {'changed' if group else 'created'} on {', '.join(where)}."
    )


async def _put(
    visit: Visit, before: Mapping[str | None, SubscriptionGroupConfig], settings: dict[str, Any]
) -> list[str]:
    """What the form does not have stays as it is on each broker."""
    create = visit.view.admin.groups.create
    done = [await create(replace(config, **settings), broker=broker) for broker, config in before.items()]
    return [name for names in done for name in names]


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
