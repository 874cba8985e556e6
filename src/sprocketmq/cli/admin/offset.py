"""`sprocket offset`: where a group is in a topic, and moving it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.completion import GROUP, TOPIC
from sprocketmq.cli.name_check import known_group, known_topic
from sprocketmq.cli.output.confirm import confirm
from sprocketmq.cli.output.tables import say, show
from sprocketmq.cli.output.times import Moment
from sprocketmq.errors import SprocketError

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.admin.offsets import Target
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.protocol.message_queue import MessageQueue


@click.group()
def offset() -> None:
    """See and move the offsets of a group."""


@offset.command()
@click.argument("group", type=GROUP)
@click.argument("topic", type=TOPIC)
@json_option
@cluster_options
def get(options: ClientOptions, group: str, topic: str, as_json: bool) -> None:
    """What GROUP has committed in every queue of TOPIC."""

    async def fetch() -> dict[MessageQueue, int | None]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, topic)
            await known_group(admin, group)
            return await admin.offsets.get(group, topic)

    show(
        ({"broker": q.broker_name, "queue": q.queue_id, "offset": at} for q, at in run_client(fetch()).items()),
        as_json,
    )


@offset.command()
@click.argument("group", type=GROUP)
@click.argument("topic", type=TOPIC)
@click.option("--to", "end", type=click.Choice(["first", "last"]), help="The beginning or the end of every queue.")
@click.option("--to-time", "when", type=Moment(), help="The first message stored at this time or later.")
@click.option(
    "--to-offset", "number", type=click.IntRange(0), help="This offset, or the nearest one that the queue has."
)
@click.option("--dry-run", is_flag=True, help="Show the new offsets without changing anything.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; without a terminal there is no question.")
@json_option
@cluster_options
def reset(
    options: ClientOptions, group: str, topic: str, end: str | None, when: int | None, number: int | None,
    dry_run: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Move GROUP in TOPIC, whether its consumers are connected or not."""
    target = _target(end, when, number)
    if not (dry_run or yes) and sys.stdin.isatty():
        confirm(f"Move group {group} in {topic}?")

    async def move() -> tuple[dict[MessageQueue, int | None], dict[MessageQueue, int], int]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, topic)
            await known_group(admin, group)
            before = await admin.offsets.get(group, topic)
            if dry_run:
                return before, await admin.offsets.preview(topic, target), 0
            moved = await admin.offsets.reset(group, topic, target)
            return before, moved, await _online(admin, group)

    before, after, online = run_client(move())
    if online:
        click.echo(f"{online} consumers of {group} are connected: they go on from there", err=True)
    show((_moved(queue, before.get(queue), at) for queue, at in after.items()), as_json)


async def _online(admin: AdminClient, group: str) -> int:
    from sprocketmq.client.errors import Refused

    try:
        return len((await admin.groups.connection(group)).connection_set)
    except Refused:
        return 0


def _moved(queue: MessageQueue, before: int | None, after: int) -> dict[str, Any]:
    return {
        "broker": queue.broker_name,
        "queue": queue.queue_id,
        "before": before,
        "offset": after,
        "moved": None if before is None else after - before,
    }


@offset.command()
@click.argument("source", type=GROUP)
@click.argument("target", type=GROUP)
@click.argument("topic", type=TOPIC)
@json_option
@cluster_options
def clone(options: ClientOptions, source: str, target: str, topic: str, as_json: bool) -> None:
    """Give the group TARGET the offsets of SOURCE in TOPIC."""

    async def copy() -> None:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, topic)
            await known_group(admin, source)
            await known_group(admin, target)
            await _has_offsets(admin, source, topic)
            await admin.offsets.clone(source, target, topic)

    run_client(copy())
    row = {"source": source, "target": target, "topic": topic}
    say(row, f"{target} is where {source} is in {topic}", as_json)


async def _has_offsets(admin: AdminClient, group: str, topic: str) -> None:
    """A group that was never in the topic has nothing to give."""
    if all(at is None for at in (await admin.offsets.get(group, topic)).values()):
        raise SprocketError(f"group {group} has consumed nothing of {topic}: there is nothing to clone")


def _target(end: str | None, when: int | None, number: int | None) -> Target:
    given = [each for each in (end, when, number) if each is not None]
    if len(given) != 1:
        raise click.UsageError("give one of --to, --to-time and --to-offset")
    if when is not None:
        return datetime.fromtimestamp(when / 1000, UTC)
    if number is not None:
        return number
    return "first" if end == "first" else "last"
