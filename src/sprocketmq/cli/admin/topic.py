"""`sprocket topic`: what topics there are, where they are, how full they are; making and removing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.completion import TOPIC
from sprocketmq.cli.name_check import known_topic
from sprocketmq.cli.output.confirm import confirm
from sprocketmq.cli.output.tables import moment, say, show
from sprocketmq.cli.output.watch import watch_option, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.protocol.bodies.stats import TopicOffset
    from sprocketmq.protocol.message_queue import MessageQueue


@click.group()
def topic() -> None:
    """List, create, inspect and delete topics."""


@topic.command("list")
@click.option("--all", "everything", is_flag=True, help="Also retry, dead-letter and system topics.")
@click.option("-d", "--details", is_flag=True, help="Also their brokers, queues and messages; one request for each.")
@json_option
@cluster_options
def list_topics(options: ClientOptions, everything: bool, details: bool, as_json: bool) -> None:
    """The topics of the cluster."""

    async def rows() -> list[dict[str, Any]]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            names = await admin.topics.names(everything=everything)
            return [await _details(admin, name) if details else {"topic": name} for name in names]

    show(run_client(rows()), as_json, empty="no topics yet")


async def _details(admin: AdminClient, name: str) -> dict[str, Any]:
    queues = await admin.topics.stats(name)
    return {
        "topic": name,
        "brokers": sorted({queue.broker_name for queue in queues}),
        "queues": len(queues),
        "messages": sum(offset.max_offset - offset.min_offset for offset in queues.values()),
        "last_write": moment(max((offset.last_update_timestamp for offset in queues.values()), default=0)),
    }


@topic.command()
@click.argument("name")
@click.option("--queues", default=8, show_default=True, type=click.IntRange(1), help="Queues per broker.")
@click.option("--read-queues", type=click.IntRange(1), help="Queues to read, if their number differs.")
@click.option("--perm", default=6, show_default=True, type=click.IntRange(0, 7), help="4 read + 2 write.")
@click.option("--cluster", help="Only on the brokers of this cluster.")
@click.option("--broker", help="Only on this broker.")
@click.option("--order", is_flag=True, help="Keep the list of queues fixed, for messages in order.")
@click.option("--attribute", "attributes", multiple=True, metavar="KEY=VALUE", help="Such as message.type=FIFO.")
@json_option
@cluster_options
def create(
    options: ClientOptions, name: str, queues: int, read_queues: int | None, perm: int, cluster: str | None,
    broker: str | None, order: bool, attributes: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Make the topic NAME, or change it."""

    async def make() -> list[str]:
        from sprocketmq.client.admin import AdminClient

        pairs = dict(_pair(text) for text in attributes)
        async with AdminClient(options) as admin:
            return await admin.topics.create(
                name, queues=queues, read_queues=read_queues, perm=perm, cluster=cluster, broker=broker, order=order,
                attributes=pairs,
            )  # fmt: skip

    show(({"topic": name, "broker": at, "queues": queues} for at in run_client(make())), as_json)


@topic.command()
@click.argument("name", type=TOPIC)
@click.option("--cluster", help="Only on the brokers of this cluster.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@cluster_options
def delete(options: ClientOptions, name: str, cluster: str | None, yes: bool, as_json: bool) -> None:
    """Remove the topic NAME and its messages."""
    if not yes:
        confirm(f"Delete topic {name} and all of its messages?")

    async def remove() -> list[str]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, name)
            return await admin.topics.delete(name, cluster=cluster)

    brokers = run_client(remove())
    say({"topic": name, "brokers": brokers}, f"deleted {name} on {', '.join(brokers)}", as_json)


@topic.command()
@click.argument("name", type=TOPIC)
@json_option
@cluster_options
def route(options: ClientOptions, name: str, as_json: bool) -> None:
    """Where the queues of NAME are."""
    from sprocketmq.client.cluster.route import Route

    async def fetch() -> Route:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, name)
            return await admin.topics.route(name)

    found = run_client(fetch())
    rows = (
        {
            "broker": broker, "cluster": found.clusters.get(broker), "id": number, "address": address,
            "read_queues": found.read_counts.get(broker, 0), "write_queues": found.write_counts.get(broker, 0),
        }
        for broker, replicas in sorted(found.addresses.items())
        for number, address in sorted(replicas.items())
    )  # fmt: skip
    show(rows, as_json)


@topic.command()
@click.argument("name", type=TOPIC)
@watch_option
@json_option
@cluster_options
def status(options: ClientOptions, name: str, watch: float | None, as_json: bool) -> None:
    """How many messages each queue of NAME holds."""

    async def fetch() -> dict[MessageQueue, TopicOffset]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, name)
            return await admin.topics.stats(name)

    watched(lambda: show(_status_rows(run_client(fetch())), as_json), watch)


def _status_rows(found: dict[MessageQueue, TopicOffset]) -> Iterator[dict[str, Any]]:
    return (
        {
            "broker": queue.broker_name, "queue": queue.queue_id, "min": offset.min_offset, "max": offset.max_offset,
            "messages": offset.max_offset - offset.min_offset,
            "last_write": moment(offset.last_update_timestamp),
        }
        for queue, offset in found.items()
    )  # fmt: skip


@topic.command()
@click.argument("name", type=TOPIC)
@json_option
@cluster_options
def groups(options: ClientOptions, name: str, as_json: bool) -> None:
    """Which groups consume NAME."""

    async def fetch() -> list[str]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, name)
            return await admin.topics.groups(name)

    show(({"group": group} for group in run_client(fetch())), as_json, empty=f"no group consumes {name}")


@topic.command()
@click.argument("name", type=TOPIC)
@click.argument("perm", type=click.IntRange(0, 7))
@click.option("--broker", help="Only on this broker.")
@json_option
@cluster_options
def perm(options: ClientOptions, name: str, perm: int, broker: str | None, as_json: bool) -> None:
    """Set what may be done with NAME: PERM is 4 for reading, 2 for writing, 6 for both."""

    async def change() -> list[str]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, name)
            return await admin.topics.set_perm(name, perm, broker=broker)

    brokers = run_client(change())
    said = f"{name} has permission {perm} on {', '.join(brokers)}"
    say({"topic": name, "perm": perm, "brokers": brokers}, said, as_json)


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--attribute")
    return key, value
