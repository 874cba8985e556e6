"""`sprocket message`: find messages by id, key or place, and see what became of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import CountCommand, cluster_options, json_option, run_client
from sprocketmq.cli.completion import TOPIC
from sprocketmq.cli.name_check import known_topic
from sprocketmq.cli.output.message_text import message_record, message_row
from sprocketmq.cli.output.tables import echo_json, moment, show, show_one
from sprocketmq.cli.output.times import Moment
from sprocketmq.errors import SprocketError

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.admin.messages import Track
    from sprocketmq.client.options import ClientOptions
    from sprocketmq.client.received import ReceivedMessage
    from sprocketmq.client.telemetry.trace_records import TraceRecord

#: As `sprocket consume` and logs tell where a message is.
_PLACE = re.compile(r"(?:(?P<topic>[^@]+)@)?(?P<broker>[^@]+):(?P<queue>\d+)\+(?P<offset>\d+)")


@click.group()
def message() -> None:
    """Find messages and see what became of them."""


@message.command()
@click.argument("message_id", metavar="ID")
@click.option("--topic", help="Where to look for the id that the sender gave it; else in all topics.")
@click.option("--track", is_flag=True, help="Also which groups have consumed it.")
@json_option
@cluster_options
def get(options: ClientOptions, message_id: str, topic: str | None, track: bool, as_json: bool) -> None:
    """One message by its ID: the sender's, the broker's, or its place, [TOPIC@]BROKER:QUEUE+OFFSET."""

    async def fetch() -> tuple[ReceivedMessage, list[Track]]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            found = await _get(admin, options.namespace, message_id, topic)
            return found, await admin.messages.track(found) if track else []

    found, tracks = run_client(fetch())
    groups = [{"group": each.group, "state": each.state, "detail": each.detail} for each in tracks]
    if as_json:
        echo_json({**message_row(found), **({"groups": groups} if track else {})})
        return
    show_one(message_record(found), False)
    if track:
        show(groups, False, empty="no group consumes its topic")


async def _get(admin: AdminClient, namespace: str, message_id: str, topic: str | None) -> ReceivedMessage:
    place = _PLACE.fullmatch(message_id)
    if place is None:
        return await admin.messages.get(message_id, topic)
    name = topic or place["topic"]
    if name is None:
        raise click.UsageError(f"{message_id} is a place in a topic: give --topic")
    return await _at(admin, namespace, name, place["broker"], int(place["queue"]), int(place["offset"]))


async def _at(admin: AdminClient, namespace: str, topic: str, broker: str, queue: int, offset: int) -> ReceivedMessage:
    from sprocketmq.protocol.message_queue import MessageQueue
    from sprocketmq.protocol.names import with_namespace

    await known_topic(admin, topic)
    found = await admin.messages.at(MessageQueue(with_namespace(namespace, topic), broker, queue), offset)
    if found is None:
        raise SprocketError(f"no message at offset {offset}; `sprocket topic status {topic}` shows what there is")
    return found


@message.command(cls=CountCommand)
@click.argument("topic", type=TOPIC)
@click.option("--key", required=True, help="One of the keys it was sent with.")
@click.option("--begin", type=Moment(), default=0, help="Stored at this time or later.")
@click.option("--end", type=Moment(), default=2**62, help="Stored before this time.")
@click.option("-c", "--count", "limit", default=64, show_default=True, type=click.IntRange(1, 1024))
@json_option
@cluster_options
def find(options: ClientOptions, topic: str, key: str, begin: int, end: int, limit: int, as_json: bool) -> None:
    """The messages of TOPIC that carry a key."""

    async def fetch() -> list[ReceivedMessage]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            await known_topic(admin, topic)
            return await admin.messages.find(topic, key, begin_ms=begin, end_ms=end, limit=limit)

    found = run_client(fetch())
    rows = [message_row(each) if as_json else _short(message_record(each)) for each in found]
    show(rows, as_json, empty=f"no message in {topic} has key {key}")


def _short(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("properties", "born")}


@message.command()
@click.argument("topic")
@click.argument("broker")
@click.argument("queue", type=int)
@click.argument("offset", type=int)
@json_option
@cluster_options
def at(options: ClientOptions, topic: str, broker: str, queue: int, offset: int, as_json: bool) -> None:
    """The message at one OFFSET of one QUEUE."""

    async def fetch() -> ReceivedMessage:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            return await _at(admin, options.namespace, topic, broker, queue, offset)

    found = run_client(fetch())
    show_one(message_row(found) if as_json else message_record(found), as_json)


@message.command()
@click.argument("message_id", metavar="ID")
@click.option("--trace-topic", default="RMQ_SYS_TRACE_TOPIC", show_default=True)
@json_option
@cluster_options
def trace(options: ClientOptions, message_id: str, trace_topic: str, as_json: bool) -> None:
    """What clients that trace have recorded of the message ID."""

    async def fetch() -> list[TraceRecord]:
        from sprocketmq.client.admin import AdminClient
        from sprocketmq.client.errors import NoRoute

        async with AdminClient(options) as admin:
            try:
                return await admin.messages.trace(message_id, topic=trace_topic)
            except NoRoute:
                raise SprocketError(
                    f"there is no topic {trace_topic}: no client of this cluster traces, as Producer(trace=True) does"
                ) from None

    show((_trace_row(record) for record in run_client(fetch())), as_json, empty="nothing was recorded of it")


def _trace_row(record: TraceRecord) -> dict[str, Any]:
    return {
        "kind": record.kind,
        "time": moment(record.timestamp_ms),
        "group": record.group,
        "topic": record.topic,
        "ms": record.cost_ms,
        "success": record.success,
    }
