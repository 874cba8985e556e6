"""`sprocket consume`: print messages as they come, as a member of a group."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import click

from sprocketmq.cli.cluster_options import cluster_options, run_client
from sprocketmq.cli.messages.group_reader import Membership, read_as_member
from sprocketmq.cli.messages.limits import Limits
from sprocketmq.cli.output.message_writer import MessageWriter, as_line
from sprocketmq.cli.output.message_writer import as_json as as_json_line

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions


@click.command()
@click.argument("topic")
@click.option("--group", required=True, help="The consumer group; its members share the messages.")
@click.option("--tag", default="*", show_default=True, help="Such as 'new || paid'.")
@click.option("--sql", help="An SQL92 expression over the properties.")
@click.option("--from", "start", default="last", show_default=True, metavar="first|last|TIME",
              help="Where a group begins that has consumed nothing yet.")  # fmt: skip
@click.option("-n", "--count", type=click.IntRange(1), help="End after so many messages.")
@click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="End when nothing came for so long.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option("--broadcast", is_flag=True, help="All messages, not a share of them.")
@click.option("--orderly", is_flag=True, help="One after the other in each queue.")
@click.option("--pop", is_flag=True, help="Let the broker hand messages out one by one.")
@cluster_options
def consume(
    options: ClientOptions, topic: str, group: str, tag: str, sql: str | None, start: str, count: int | None,
    timeout: float | None, as_json: bool, broadcast: bool, orderly: bool, pop: bool,
) -> None:  # fmt: skip
    """Print the messages of TOPIC as they come; ^C ends it and keeps the group's place."""
    if pop and (broadcast or orderly):
        raise click.UsageError("--pop goes neither with --broadcast nor with --orderly")
    member = Membership(group, topic, tag, sql, _start(start), broadcast, orderly, pop)
    writer = MessageWriter(as_json_line if as_json else as_line)
    run_client(_look_for(options, topic))
    seen = run_client(read_as_member(options, member, Limits(count, timeout), writer))
    if writer.is_closed:
        raise BrokenPipeError
    if count is not None and seen < count:
        click.echo(f"{seen} of {count} messages came", err=True)


async def _look_for(options: ClientOptions, topic: str) -> None:
    """A consumer waits for nameservers and topics alike; a person wants to know that it does."""
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.errors import NoRoute

    async with AdminClient(options) as admin:
        try:
            await admin.topics.route(topic)
        except NoRoute:
            click.echo(f"topic {topic} is not there yet: waiting for it (`sprocket topic list` shows all)", err=True)


def _start(text: str) -> Literal["first", "last"] | datetime:
    if text == "first":
        return "first"
    if text == "last":
        return "last"
    try:
        when = datetime.fromtimestamp(int(text) / 1000, UTC) if text.isdecimal() else datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not first, last, milliseconds or a date and time") from None
    return when
