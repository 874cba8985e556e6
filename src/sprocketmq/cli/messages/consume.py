"""`sprocket consume`: print messages as they come, as a member of a group or without one."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import click

from sprocketmq.cli.arguments import Finite, Octets
from sprocketmq.cli.cluster_options import CountCommand, cluster_options, run_client
from sprocketmq.cli.completion import GROUP, TOPIC
from sprocketmq.cli.messages.read_limits import ConsumeLimits
from sprocketmq.cli.messages.start_position import group_start, parse_start
from sprocketmq.cli.output.message_format import compile_format
from sprocketmq.cli.output.message_writer import MessageWriter, Render, as_body, as_json_line, as_line
from sprocketmq.cli.output.sql_warning import warn_of_ignored
from sprocketmq.protocol.names import group_fault, topic_fault

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions

#: As a shell tells of a program that SIGTERM has ended.
TERMINATED = 143

_FIELDS = (
    "\b\n"
    + r"""Fields of --format:
  %t topic   %b broker    %q queue   %o offset   %i id      %I offset id
  %s body    %S its size  %k keys    %g tag      %n tries   %h properties
  %T stored, milliseconds %d stored, ISO 8601    %{NAME} one property
  %% a percent sign, \n \t \r \0 \\ \xHH as in C"""
)


@click.command(cls=CountCommand, epilog=_FIELDS)
@click.argument("topic", type=TOPIC)
@click.option("--group", type=GROUP, help="The consumer group; its members share the messages. Without a group "
              "you only look, and no offset is stored.")  # fmt: skip
@click.option("--tag", default="*", show_default=True, help="Tags, such as 'new || paid'.")
@click.option("--sql", help="An SQL92 expression over the properties.")
@click.option("--from", "start", metavar="first|last|-N|OFFSET|TIME",
              help="Where to start. With a group, it counts only while that has consumed nothing.  [default: last; "
              "first with --exit-at-end]")  # fmt: skip
@click.option("--queue", "queues", multiple=True, type=click.IntRange(0), help="Only this queue; without a group.")
@click.option("-c", "--count", type=click.IntRange(1), help="Stop after this many messages.")
@click.option("--timeout", type=Finite(0), metavar="SECONDS", help="Stop when no message has come for this long.")
@click.option("-e", "--exit-at-end", is_flag=True, help="Stop at the current end of the topic.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option("--raw", is_flag=True, help="Bodies only, one per line.")
@click.option("-f", "--format", "form", type=Octets(), help=r"Such as '%t %o %k %s\n'; see below.")
@click.option("--broadcast", is_flag=True, help="Get every message, not a share of them.")
@click.option("--orderly", is_flag=True, help="One after the other in each queue.")
@click.option("--pop", is_flag=True, help="Let the broker hand messages out one by one.")
@cluster_options
@click.pass_context
def consume(
    ctx: click.Context, /, options: ClientOptions, topic: str, group: str | None, tag: str, sql: str | None,
    start: str | None, queues: tuple[int, ...], count: int | None, timeout: float | None, exit_at_end: bool,
    as_json: bool, raw: bool, form: bytes | None, broadcast: bool, orderly: bool, pop: bool,
) -> None:  # fmt: skip
    """Print the messages of TOPIC as they come; ^C ends it and keeps the group's place."""
    if (fault := topic_fault(topic)) is not None:
        raise click.BadParameter(fault, param_hint="TOPIC")
    if sql is not None:
        if tag != "*":
            raise click.UsageError("give --tag or --sql, not both")
        warn_of_ignored(sql)
    begin = start or ("first" if exit_at_end else "last")
    writer, limits = MessageWriter(_render(as_json, raw, form)), ConsumeLimits(count, timeout)
    if group is None:
        from sprocketmq.cli.messages.topic_reader import Reading, read_topic

        if broadcast or orderly or pop:
            raise click.UsageError("--broadcast, --orderly and --pop need a --group")
        reading = Reading(topic, tag, sql, parse_start(begin), frozenset(queues), exit_at_end)
        seen = run_client(read_topic(options, reading, limits, writer))
    else:
        from sprocketmq.cli.messages.group_reader import Membership, read_as_member

        if pop and (broadcast or orderly):
            raise click.UsageError("--pop goes neither with --broadcast nor with --orderly")
        if queues:
            raise click.UsageError("--queue is for reading without a --group: members share the queues")
        if (fault := group_fault(group)) is not None:
            raise click.BadParameter(fault, param_hint="--group")
        member = Membership(group, topic, tag, sql, group_start(begin), exit_at_end, broadcast, orderly, pop)
        run_client(_look_for(options, topic, limits.start_patience))
        try:
            seen = run_client(read_as_member(options, member, limits, writer))
        except asyncio.CancelledError:
            ctx.exit(TERMINATED)
    if writer.is_closed:
        raise BrokenPipeError
    if count is not None and seen < count:
        click.echo(f"{seen} of {count} messages came", err=True)


def _render(as_json: bool, raw: bool, form: bytes | None) -> Render:
    if as_json + raw + (form is not None) > 1:
        raise click.UsageError("give one of --json, --raw and --format")
    if form is not None:
        return compile_format(os.fsdecode(form))
    return as_json_line if as_json else as_body if raw else as_line


async def _look_for(options: ClientOptions, topic: str, wait: float) -> None:
    """A consumer waits for its topic without end: a person wants to know that it does."""
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.errors import NoRoute

    async with AdminClient(options) as admin:
        try:
            await admin.topics.route(topic, wait=wait)
        except NoRoute:
            click.echo(f"topic {topic} is not there yet: waiting for it (`sprocket topic list` shows all)", err=True)
