"""`sprocket dlq`: messages that a group has given up on, and giving them to it again.

A message that failed too often lies in `%DLQ%GROUP`. It stays there whatever is done: `resend` has the group, and no
other, try it once more; `--to` sends a copy to a topic for everyone who consumes that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.completion import GROUP, TOPIC
from sprocketmq.cli.messages.start_position import LastMessages, parse_start
from sprocketmq.cli.messages.topic_reader import Reading, messages_there
from sprocketmq.cli.name_check import NotThere, known_group
from sprocketmq.cli.output.message_text import message_record, message_row
from sprocketmq.cli.output.tables import echo_json, moment, show
from sprocketmq.protocol.names import DLQ_PREFIX, dlq_topic, is_dlq_topic

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.client.received import ReceivedMessage


@click.group()
def dlq() -> None:
    """See the messages that groups gave up on, and resend them."""


@dlq.command("list")
@json_option
@cluster_options
def list_queues(options: ClientOptions, as_json: bool) -> None:
    """The groups that have dead letters, and how many."""

    async def fetch() -> list[dict[str, Any]]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            names = [name for name in await admin.topics.names(everything=True) if is_dlq_topic(name)]
            return [await _queue_row(admin, name) for name in names]

    show(run_client(fetch()), as_json, empty="no group has dead letters")


async def _queue_row(admin: AdminClient, topic: str) -> dict[str, Any]:
    queues = (await admin.topics.stats(topic)).values()
    return {
        "group": topic.removeprefix(DLQ_PREFIX),
        "messages": sum(queue.max_offset - queue.min_offset for queue in queues),
        "last": moment(max((queue.last_update_timestamp for queue in queues), default=0)),
    }


@dlq.command("show")
@click.argument("group", type=GROUP)
@click.option("--from", "start", default="first", show_default=True, metavar="first|-N|OFFSET|TIME", help="Begin here.")
@click.option("-c", "--count", type=click.IntRange(1), help="Show the last so many.")
@json_option
@cluster_options
def show_letters(options: ClientOptions, group: str, start: str, count: int | None, as_json: bool) -> None:
    """The dead letters of GROUP, oldest first."""
    begin = LastMessages(count) if count is not None else parse_start(start)

    async def fetch() -> list[ReceivedMessage]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            return await _letters(admin, options.namespace, group, Reading(dlq_topic(group), start=begin))

    found = run_client(fetch())
    show([message_row(each) if as_json else _short(each) for each in found], as_json, empty="no dead letters")


def _short(message: ReceivedMessage) -> dict[str, Any]:
    record = message_record(message)
    return {name: record[name] for name in ("id", "topic", "tag", "keys", "stored", "tries", "body")}


@dlq.command()
@click.argument("group", type=GROUP)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Every dead letter of the group.")
@click.option("--to", type=TOPIC, help="Send copies to this topic instead, for whoever consumes it.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent without sending it.")
@json_option
@cluster_options
def resend(
    options: ClientOptions, group: str, ids: tuple[str, ...], everything: bool, to: str | None, dry_run: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Have GROUP try the dead letters with these IDs again. They stay in the dead-letter queue as well."""
    if bool(ids) == everything:
        raise click.UsageError("give the IDs of dead letters, or --all")

    async def work() -> list[ReceivedMessage]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            letters = await _letters(admin, options.namespace, group, Reading(dlq_topic(group), start="first"))
            chosen = letters if everything else _chosen(letters, ids, group)
            if not dry_run and to is None:
                for letter in chosen:
                    await admin.messages.give_back(group, letter)
            elif not dry_run and to is not None:
                await _send_copies(options, to, chosen)
            return chosen

    chosen = run_client(work())
    if as_json:
        echo_json([{"id": letter.message_id, "topic": to or letter.topic, "sent": not dry_run} for letter in chosen])
    else:
        where = f"to {to}" if to is not None else f"to group {group}"
        click.echo(f"{len(chosen)} messages {'would be sent' if dry_run else 'sent'} {where}")


async def _letters(admin: AdminClient, namespace: str, group: str, reading: Reading) -> list[ReceivedMessage]:
    if dlq_topic(group) not in await admin.topics.names(everything=True):
        await known_group(admin, group)
        return []
    return [message async for message in messages_there(admin, namespace, reading)]


def _chosen(letters: list[ReceivedMessage], ids: tuple[str, ...], group: str) -> list[ReceivedMessage]:
    """A message that died twice is given back once: its last copy."""
    by_id = {name: letter for letter in letters for name in (letter.message_id, letter.offset_message_id)}
    for name in ids:
        if name not in by_id:
            raise NotThere(f"no dead letter {name} of group {group}. `sprocket dlq show {group}` shows all.")
    return list({id(by_id[name]): by_id[name] for name in ids}.values())


async def _send_copies(options: ClientOptions, topic: str, letters: list[ReceivedMessage]) -> None:
    from sprocketmq.client.admin.resent_messages import copy_of
    from sprocketmq.client.producer.producer import Producer

    async with Producer("sprocket-dlq", options) as producer:
        for letter in letters:
            await producer.send(copy_of(letter, topic))
