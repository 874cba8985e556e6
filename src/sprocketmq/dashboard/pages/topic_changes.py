"""Making, changing and deleting topics."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from sprocketmq.client.errors import ClientError
from sprocketmq.dashboard.web.forms import BadForm, WebForm
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.render import path_part
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.names import topic_fault

#: What 5.x brokers check sends against, as the attribute `message.type`.
TYPE = "message.type"
TYPES = ("", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED")
_MOST_QUEUES = 1024


async def new(visit: Visit) -> Response:
    return await _form(visit, None, TopicConfig(read_queue_nums=8, write_queue_nums=8))


async def create(visit: Visit) -> Response:
    return await _apply(visit, await visit.form(), None)


async def change(visit: Visit) -> Response:
    configs = await visit.view.admin.topics.config(visit.path("topic"))
    return await _form(visit, visit.path("topic"), next(iter(configs.values())))


async def changed(visit: Visit) -> Response:
    return await _apply(visit, await visit.form(), visit.path("topic"))


async def _form(
    visit: Visit, topic: str | None, config: TopicConfig, wrong: str = "", chosen: str = "", name: str = ""
) -> Response:
    brokers = list(await visit.view.masters())
    return visit.render(
        "topic_form.html", 400 if wrong else 200, topic=topic, name=name, config=config, wrong=wrong, types=TYPES,
        brokers=brokers, chosen=chosen,
    )  # fmt: skip


async def _apply(visit: Visit, form: WebForm, topic: str | None) -> Response:
    """One form makes and changes; what is wrong with it is said above it, with all that was typed."""
    name = topic or form.text("name")
    kind, broker = form.text("type"), form.text("broker")
    config = TopicConfig(order=form.flag("order"), attributes={TYPE: kind} if kind else {})
    try:
        config = _config(form, config.attributes)
        if (fault := topic_fault(visit.view.full_name(name))) is not None:
            raise BadForm(f"Name: {fault}.")
        where = await _put(visit, name, config, broker, is_new=topic is None)
    except (BadForm, ClientError) as error:
        visit.refused("topic change" if topic else "topic create", name, error)
        return await _form(visit, topic, config, str(error), broker, name)
    visit.changed("topic change" if topic else "topic create", name)
    return visit.see(
        f"/topics/{path_part(name)}", f"Topic {name} was {'changed' if topic else 'created'} on {', '.join(where)}."
    )


async def _put(visit: Visit, name: str, config: TopicConfig, broker: str, *, is_new: bool) -> list[str]:
    """On the broker that was chosen; without one, a new topic on all of them, and another where it is."""
    topics = visit.view.admin.topics
    before = {} if is_new else await topics.config(name)
    where = []
    places: list[str | None] = [broker] if broker else [*sorted(before)] or [None]
    for each in places:
        had_type = any(name == each and TYPE in had.attributes for name, had in before.items())
        where += await topics.create(
            name, queues=config.write_queue_nums, read_queues=config.read_queue_nums, perm=config.perm, broker=each,
            order=config.order, attributes={TYPE: None} if had_type and not config.attributes else config.attributes,
        )  # fmt: skip
    return where


def _config(form: WebForm, attributes: Mapping[str, str]) -> TopicConfig:
    return TopicConfig(
        write_queue_nums=form.number("write_queues", "Write queues", 1, _MOST_QUEUES),
        read_queue_nums=form.number("read_queues", "Read queues", 1, _MOST_QUEUES),
        perm=(4 if form.flag("readable") else 0) | (2 if form.flag("writable") else 0),
        order=form.flag("order"),
        attributes=attributes,
    )


async def ask_delete(visit: Visit) -> Response:
    name = visit.path("topic")
    figures = await visit.view.admin.topics.figures(name)
    groups = await visit.view.admin.topics.groups(name)
    return visit.render("topic_delete.html", topic=name, figures=figures, groups=groups)


async def delete(visit: Visit) -> Response:
    form, name = await visit.form(), visit.path("topic")
    if form.text("name") != name:
        raise BadForm("The name does not match: nothing was deleted.")
    where = await visit.view.admin.topics.delete(name)
    visit.changed("topic delete", name)
    return visit.see("/topics", f"Topic {name} was deleted on {', '.join(where)}.")


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/new/topic", new),
    ("POST", "/new/topic", create),
    ("GET", "/topics/{topic}/change", change),
    ("POST", "/topics/{topic}/change", changed),
    ("GET", "/topics/{topic}/delete", ask_delete),
    ("POST", "/topics/{topic}/delete", delete),
]
