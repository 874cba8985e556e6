"""`sprocket consume`: print messages as they come, as a member of a group."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import click

from sprocketmq.cli.cluster_options import cluster_options, run_client
from sprocketmq.cli.output.message_text import body_text, message_row
from sprocketmq.cli.output.tables import echo_json

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.client.received import ReceivedMessage


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
    how = {"broadcasting": broadcast, "orderly": orderly, "pop": pop}
    begin = _start(start)
    run_client(_look_for(options, topic))
    seen = run_client(_consume(options, topic, group, tag, sql, begin, count, timeout, as_json, how))
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


async def _consume(
    options: ClientOptions, topic: str, group: str, tag: str, sql: str | None,
    start: Literal["first", "last"] | datetime, count: int | None, timeout: float | None, as_json: bool,
    how: dict[str, Any],
) -> int:  # fmt: skip
    from sprocketmq.client.push.consumer import PushConsumer
    from sprocketmq.client.settings import ConsumerSettings

    printed, came = 0, asyncio.Event()

    async def handle(message: ReceivedMessage) -> bool:
        nonlocal printed
        if count is not None and printed >= count:
            return False  # came too late: somebody else gets it, or we do next time
        _print(message, as_json)
        printed += 1
        came.set()
        return True

    settings = ConsumerSettings(consume_from=start, concurrency=1, pull_batch=min(count or 32, 32))
    consumer = PushConsumer(group, options, settings=settings, **how)
    consumer.add_handler(topic, handle, tag, sql=sql)
    async with consumer:
        try:
            while count is None or printed < count:
                async with asyncio.timeout(timeout):
                    await came.wait()
                came.clear()
        except TimeoutError:
            pass
    return printed


def _print(message: ReceivedMessage, as_json: bool) -> None:
    if as_json:
        echo_json(message_row(message))
        return
    tag = f" [{message.tag}]" if message.tag else ""
    click.echo(f"{message.broker_name}:{message.queue_id}+{message.queue_offset}{tag} {body_text(message.body)}")


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
