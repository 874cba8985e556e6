"""`sprocket send`: one message, or one per line of the standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.output.tables import show

if TYPE_CHECKING:
    from sprocketmq.client.message import SendReceipt
    from sprocketmq.client.options import ClientOptions


@click.command()
@click.argument("topic")
@click.argument("body", required=False)
@click.option("--tag", help="The message's tag.")
@click.option("--key", "keys", multiple=True, help="A key to find it by; may be given more than once.")
@click.option("--property", "properties", multiple=True, metavar="KEY=VALUE", help="A property; more than once.")
@click.option("--delay-level", default=0, type=click.IntRange(0, 18), help="1 (1 s) to 18 (2 h).")
@click.option("--delay", type=float, metavar="SECONDS", help="Deliver it so much later.")
@click.option("--shard", help="Messages with one shard key stay in order.")
@click.option("-n", "--count", default=1, show_default=True, type=click.IntRange(1), help="Send it so many times.")
@click.option("--group", default="sprocket-send", show_default=True, help="The producer group.")
@json_option
@cluster_options
def send(
    options: ClientOptions, topic: str, body: str | None, tag: str | None, keys: tuple[str, ...],
    properties: tuple[str, ...], delay_level: int, delay: float | None, shard: str | None, count: int, group: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Send BODY to TOPIC. With `-`, or without a BODY, each line of the standard input is a message."""
    how: dict[str, Any] = {
        "tag": tag, "keys": list(keys), "properties": dict(_pair(text) for text in properties),
        "delay_level": delay_level, "sharding_key": shard,
        "delay": None if delay is None else timedelta(seconds=delay),
    }  # fmt: skip
    receipts = run_client(_send(options, group, topic, _bodies(body, count), how))
    if as_json or len(receipts) <= 20:
        show((_row(receipt) for receipt in receipts), as_json, empty="nothing to send")
    else:
        click.echo(f"sent {len(receipts)} messages to {topic}")


async def _send(
    options: ClientOptions, group: str, topic: str, bodies: Iterator[bytes], how: dict[str, Any]
) -> list[SendReceipt]:
    """In order, with automatic batching: a large file is sent as it is read."""
    from sprocketmq.client.message import Message
    from sprocketmq.client.producer.producer import Producer

    async with Producer(group, options) as producer:
        futures = await producer.enqueue_all(Message(topic, body, **how) for body in bodies)
        await producer.flush()
        return [await future for future in futures]


def _bodies(body: str | None, count: int) -> Iterator[bytes]:
    if body is not None and body != "-":
        yield from (body.encode() for _ in range(count))
        return
    for line in sys.stdin.buffer:
        if text := line.rstrip(b"\r\n"):
            yield text


def _row(receipt: SendReceipt) -> dict[str, Any]:
    return {
        "status": receipt.status.name,
        "id": receipt.message_id,
        "offset_id": receipt.offset_message_id,
        "broker": receipt.queue.broker_name,
        "queue": receipt.queue.queue_id,
        "offset": receipt.queue_offset,
    }


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key or not value:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE")
    return key, value
