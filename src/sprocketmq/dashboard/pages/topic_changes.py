"""Making, changing and deleting topics."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from sprocketmq.client.errors import ClientError
from sprocketmq.dashboard.pages.topics import PERMS
from sprocketmq.dashboard.web.forms import EVERY_BROKER, BadForm, WebForm, chosen_brokers
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.render import path_part
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.names import topic_fault

#: What 5.x brokers check sends against, as the attribute `message.type`.
TYPE = "message.type"
TYPES = ("", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED")
_MOST_QUEUES = 1024

Configs = Mapping[str, TopicConfig]


async def new(visit: Visit) -> Response:
    return await _form(visit, None, TopicConfig(read_queue_nums=8, write_queue_nums=8), {})


async def create(visit: Visit) -> Response:
    return await _apply(visit, await visit.form(), None, {})


async def change(visit: Visit) -> Response:
    """As it is on the broker that was asked for, else on the first."""
    configs, broker = await visit.view.admin.topics.config(visit.path("topic")), visit.query("broker")
    config = configs.get(broker) or next(iter(configs.values()))
    return await _form(visit, visit.path("topic"), config, configs, chosen=broker if broker in configs else "")


async def changed(visit: Visit) -> Response:
    topic = visit.path("topic")
    return await _apply(visit, await visit.form(), topic, await visit.view.admin.topics.config(topic))


async def _form(
    visit: Visit, topic: str | None, config: TopicConfig, configs: Configs, wrong: str = "", chosen: str = "",
    name: str = "",
) -> Response:  # fmt: skip
    return visit.render(
        "topic_form.html", 400 if wrong else 200, topic=topic, name=name, config=config, configs=configs,
        differ=_differ(configs), every=EVERY_BROKER, perms=PERMS, wrong=wrong, types=TYPES,
        brokers=list(await visit.view.masters()), chosen=chosen,
    )  # fmt: skip


def _differ(configs: Configs) -> bool:
    """Whether brokers have different settings, of those that the form has."""
    return len({_settings(config) for config in configs.values()}) > 1


def _settings(config: TopicConfig) -> tuple[object, ...]:
    return config.write_queue_nums, config.read_queue_nums, config.perm, config.order, config.attributes.get(TYPE)


async def _apply(visit: Visit, form: WebForm, topic: str | None, configs: Configs) -> Response:
    """One form makes and changes; what is wrong with it is said above it, with all that was typed."""
    name = topic or form.text("name")
    kind, broker = form.text("type"), form.text("broker")
    config = TopicConfig(order=form.flag("order"), attributes={TYPE: kind} if kind else {})
    try:
        config = _config(form, config.attributes)
        if (fault := topic_fault(visit.view.full_name(name))) is not None:
            raise BadForm(f"Name: {fault}.")
        places = chosen_brokers(broker, sorted(configs), differ=_differ(configs))
        where = await _put(visit, name, config, places, configs)
    except (BadForm, ClientError) as error:
        visit.refused("topic change" if topic else "topic create", name, error)
        return await _form(visit, topic, config, configs, str(error), broker, name)
    visit.changed("topic change" if topic else "topic create", name)
    return visit.see(
        f"/topics/{path_part(name)}", f"Topic {name} was {'changed' if topic else 'created'} on {', '.join(where)}."
    )


async def _put(visit: Visit, name: str, config: TopicConfig, places: list[str | None], before: Configs) -> list[str]:
    where = []
    for each in places:
        had_type = each is not None and each in before and TYPE in before[each].attributes
        where += await visit.view.admin.topics.create(
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
