"""`sprocket group`: consumer groups, their members and their lag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.completion import BROKER, GROUP, TOPIC
from sprocketmq.cli.name_check import known_group, known_topic
from sprocketmq.cli.output.confirm import confirm
from sprocketmq.cli.output.tables import cell, moment, say, show
from sprocketmq.cli.output.watch import watch_option, watched

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.admin.groups import GroupFigures, QueueLag
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.protocol.bodies.connections import ConsumerConnection


@click.group()
def group() -> None:
    """List, create, inspect and delete consumer groups."""


@group.command("list")
@click.option("--all", "everything", is_flag=True, help="Also RocketMQ's own groups.")
@click.option("-d", "--details", is_flag=True, help="Also their members, topics and lag; one request for each.")
@json_option
@cluster_options
def list_groups(options: ClientOptions, everything: bool, details: bool, as_json: bool) -> None:
    """The groups that brokers know."""

    async def rows() -> list[dict[str, Any]]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            names = await admin.groups.names(everything=everything)
            return [await _details(admin, name) if details else {"group": name} for name in names]

    show(run_client(rows()), as_json, empty="no groups yet")


async def _details(admin: AdminClient, name: str) -> dict[str, Any]:
    figures = await admin.groups.figures(name)
    return {
        "group": name,
        "members": len(figures.members.connection_set),
        "topics": figures.topics,
        "lag": figures.lag,
    }


@group.command()
@click.argument("name")
@click.option("--retries", default=16, show_default=True, help="Tries before a message goes to the dead-letter queue.")
@click.option("--retry-queues", default=1, show_default=True, help="Queues of the retry topic.")
@click.option("--no-broadcast", is_flag=True, help="Refuse broadcasting consumers.")
@click.option("--disabled", is_flag=True, help="Make it, but let nobody consume yet.")
@click.option("--cluster", help="Only on the brokers of this cluster.")
@click.option("--broker", type=BROKER, help="Only on this broker.")
@json_option
@cluster_options
def create(
    options: ClientOptions, name: str, retries: int, retry_queues: int, no_broadcast: bool, disabled: bool,
    cluster: str | None, broker: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Make the group NAME, or change it."""

    async def make() -> list[str]:
        from sprocketmq.client.admin import AdminClient
        from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
        from sprocketmq.protocol.names import with_namespace

        config = SubscriptionGroupConfig(
            group_name=with_namespace(options.namespace, name),
            retry_max_times=retries,
            retry_queue_nums=retry_queues,
            consume_broadcast_enable=not no_broadcast,
            consume_enable=not disabled,
        )
        async with AdminClient(options) as admin:
            return await admin.groups.create(config, cluster=cluster, broker=broker)

    brokers = run_client(make())
    say({"group": name, "brokers": brokers}, f"group {name} is on {', '.join(brokers)}", as_json)


@group.command()
@click.argument("name", type=GROUP)
@click.option("--clean-offsets", is_flag=True, help="Also forget how far it was.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@cluster_options
def delete(options: ClientOptions, name: str, clean_offsets: bool, yes: bool, as_json: bool) -> None:
    """Remove the group NAME."""
    if not yes:
        confirm(f"Delete group {name}?")

    async def remove() -> list[str]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_group(admin, name)
            return await admin.groups.delete(name, clean_offsets=clean_offsets)

    brokers = run_client(remove())
    say({"group": name, "brokers": brokers}, f"deleted group {name} on {', '.join(brokers)}", as_json)


@group.command()
@click.argument("name", type=GROUP)
@click.option("--topic", type=TOPIC, help="Only this topic.")
@click.option("--owners", is_flag=True, help="Also show which consumer has each queue.")
@watch_option
@json_option
@cluster_options
def lag(options: ClientOptions, name: str, topic: str | None, owners: bool, watch: float | None, as_json: bool) -> None:
    """How far the group NAME is in every queue."""

    async def once() -> GroupFigures:
        from sprocketmq.client.admin import AdminClient
        from sprocketmq.client.admin.groups import NOBODY, GroupFigures, Progress

        async with AdminClient(options) as admin:
            await known_group(admin, name)
            if topic is None:
                return await admin.groups.figures(name, owners=owners)
            await known_topic(admin, topic)  # and then brokers tell of every queue, committed or not
            return GroupFigures(NOBODY, Progress(0.0, await admin.groups.lag(name, topic, owners=owners)))

    watched(lambda: _show_lag(run_client(once()), owners, as_json), watch)


def _show_lag(figures: GroupFigures, owners: bool, as_json: bool) -> None:
    rows = [_lag_row(row) for row in figures.progress.queues]
    rows += [dict.fromkeys(_LAG_KEYS) | {"topic": topic} for topic in figures.uncommitted]
    kept = _LAG_KEYS if owners else _LAG_KEYS[:-1]
    show(({key: row[key] for key in kept} for row in rows), as_json, empty="the group has consumed nothing yet")
    if not as_json and rows:
        missing = ", ".join(figures.uncommitted)
        click.echo(f"lag {cell(figures.lag)}" + (f"; no offset committed for {missing}" if missing else ""))


def _lag_row(row: QueueLag) -> dict[str, Any]:
    queue, last = row.queue, moment(row.last_consumed_ms)
    place = (queue.topic, queue.broker_name, queue.queue_id)
    return dict(zip(_LAG_KEYS, (*place, row.broker_offset, row.consumer_offset, row.lag, last, row.owner), strict=True))


_LAG_KEYS = ("topic", "broker", "queue", "broker_offset", "consumer_offset", "lag", "last_consumed", "owner")


@group.command()
@click.argument("name", type=GROUP)
@json_option
@cluster_options
def members(options: ClientOptions, name: str, as_json: bool) -> None:
    """The consumers of NAME that are connected, and what they subscribe to."""

    async def fetch() -> ConsumerConnection | None:
        from sprocketmq.client.admin import AdminClient
        from sprocketmq.client.errors import Refused
        from sprocketmq.codes import ResponseCode

        async with AdminClient(options) as admin:
            await known_group(admin, name)
            try:
                return await admin.groups.connection(name)
            except Refused as error:
                if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
                return None

    found = run_client(fetch())
    show(_members(found) if found is not None else (), as_json, empty="no consumer of the group is connected")


def _members(found: ConsumerConnection) -> list[dict[str, Any]]:
    subscriptions = [f"{topic}:{data.sub_string}" for topic, data in sorted(found.subscription_table.items())]
    return [
        {
            "client": member.client_id,
            "address": member.client_addr,
            "language": None if member.language is None else member.language.name,
            "subscriptions": subscriptions,
        }
        for member in found.connection_set
    ]
