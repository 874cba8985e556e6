"""`sprocket send`: one message, whole files, or one message per line of the standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.arguments import Finite, Octets, unescaped
from sprocketmq.cli.cluster_options import CountCommand, cluster_options, json_option, run_client
from sprocketmq.cli.completion import TOPIC
from sprocketmq.cli.messages.input_lines import input_lines
from sprocketmq.cli.messages.send_stream import Item, Sent, send_all
from sprocketmq.cli.output.tables import show
from sprocketmq.protocol.names import topic_fault, with_namespace

if TYPE_CHECKING:
    from sprocketmq.client.message import Message, SendReceipt
    from sprocketmq.client.options import ClientOptions

#: As many receipts are shown as a table; of more only their number.
SHOWN = 20

#: Makes a message of a body and, where the line has one, a key.
Make = Callable[[bytes, "str | None"], "Message"]


@click.command(cls=CountCommand)
@click.argument("topic", type=TOPIC)
@click.argument("body", required=False, type=Octets())
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True, dir_okay=False),
    help="Send this file as one message; `-` is standard input. Repeatable.",
)
@click.option("--tag", help="The message's tag.")
@click.option("--key", "keys", multiple=True, help="A key to find the message by. Repeatable.")
@click.option("-K", "--key-delimiter", "delimiter", type=Octets(),
              help=r"Each line of the input is KEY, TEXT, BODY; `\t` is a tab.")  # fmt: skip
@click.option("--property", "properties", multiple=True, metavar="KEY=VALUE", help="A property. Repeatable.")
@click.option("--delay-level", default=0, type=click.IntRange(0, 18), help="Delay level, 1 (1 s) to 18 (2 h).")
@click.option("--delay", type=Finite(0), metavar="SECONDS", help="Deliver it after this many seconds.")
@click.option("--shard", help="Sharding key: messages with the same one stay in order.")
@click.option("-c", "--count", default=1, show_default=True, type=click.IntRange(1), help="Send it this many times.")
@click.option(
    "--timeout",
    default=10.0,
    show_default=True,
    type=Finite(0, min_open=True),
    metavar="SECONDS",
    help="Timeout of each send.",
)
@click.option("--group", default="sprocket-send", show_default=True, help="The producer group.")
@json_option
@cluster_options
def send(
    options: ClientOptions, topic: str, body: bytes | None, files: tuple[Path, ...], tag: str | None,
    keys: tuple[str, ...], delimiter: bytes | None, properties: tuple[str, ...], delay_level: int,
    delay: float | None, shard: str | None, count: int, timeout: float, group: str, as_json: bool,
) -> None:  # fmt: skip
    """Send BODY to TOPIC. Without a BODY, or with `-`, each line of the input is a message, sent as it comes."""
    if tag is not None and "||" in tag:
        said = f"{tag!r}: || joins tags where they are subscribed to; a message has one"
        raise click.BadParameter(said, param_hint="--tag")
    if (fault := topic_fault(with_namespace(options.namespace, topic))) is not None:
        raise click.BadParameter(fault, param_hint="TOPIC")
    if files and body is not None:
        raise click.UsageError("give a BODY or a --file, not both")
    is_lines = body in (None, b"-") and not files
    if count > 1 and is_lines:
        raise click.UsageError("--count is for a BODY or a --file: each line of the input is sent once")
    if delimiter is not None and not (is_lines and delimiter):
        raise click.UsageError("--key-delimiter is a TEXT in the lines of the standard input")
    for file in files:
        if str(file) != "-" and not file.exists():
            raise click.BadParameter(f"File '{file}' does not exist", param_hint="--file")
    how: dict[str, Any] = {
        "tag": tag, "properties": dict(_pair(text) for text in properties), "delay_level": delay_level,
        "sharding_key": shard, "delay": delay,
    }  # fmt: skip

    def make(content: bytes, key: str | None) -> Message:
        from sprocketmq.client.message import Message

        return Message(topic, content, keys=[*keys, *([] if key is None else [key])], **how)

    items = _lines(make, None if delimiter is None else unescaped(delimiter))
    if files:
        items = _files(make, files, count)
    elif body is not None and not is_lines:
        items = _same(make, body, count)
    elif sys.stdin.isatty():
        click.echo("one message per line; ^D ends, ^C stops", err=True)
    _send(options, group, topic, items, timeout, as_json)


def _send(
    options: ClientOptions, group: str, topic: str, items: AsyncIterator[Item], timeout: float, as_json: bool
) -> None:
    sent = Sent(None if as_json else SHOWN + 1)
    try:
        run_client(send_all(options, group, items, timeout, sent))
    except Exception:
        if sent.count:
            messages = "message" if sent.count == 1 else "messages"
            click.echo(f"sent {sent.count} {messages} to {topic} before this:", err=True)
        raise
    if as_json or sent.count <= SHOWN:
        show((_row(receipt) for receipt in sent.receipts), as_json, empty="nothing to send")
    else:
        click.echo(f"sent {sent.count} messages to {topic}")


async def _same(make: Make, body: bytes, count: int) -> AsyncIterator[Item]:
    message = make(body, None)
    for _ in range(count):
        yield message, ""


async def _files(make: Make, files: tuple[Path, ...], count: int) -> AsyncIterator[Item]:
    for file in files:
        async for message, _ in _same(make, _content(file), count):
            yield message, str(file)


def _content(file: Path) -> bytes:
    """A device has no end, and a body has: no more is read than tells that it is too long."""
    from sprocketmq.client.message import MAX_BODY_BYTES
    from sprocketmq.errors import ConfigError

    with sys.stdin.buffer if str(file) == "-" else file.open("rb") as stream:
        content = stream.read(MAX_BODY_BYTES + 1)
    if len(content) > MAX_BODY_BYTES:
        raise ConfigError(f"{file}: more than the {MAX_BODY_BYTES} bytes that a body may have")
    return content


async def _lines(make: Make, delimiter: bytes | None) -> AsyncIterator[Item]:
    """An empty line cannot be a message: RocketMQ has no empty bodies."""
    number = 0
    async for line in input_lines():
        number += 1
        key, body = _split(line, delimiter, number)
        if body:
            yield make(body, key), f"line {number}"
        else:
            click.echo(f"line {number} has no body and is not sent", err=True)


def _split(line: bytes, delimiter: bytes | None, number: int) -> tuple[str | None, bytes]:
    from sprocketmq.errors import ConfigError

    if delimiter is None or not line:
        return None, line
    key, found, body = line.partition(delimiter)
    if not found or not key:
        raise ConfigError(f"line {number}: no key before {os.fsdecode(delimiter)!r}")
    try:
        return key.decode(), body
    except UnicodeDecodeError:
        raise ConfigError(f"line {number}: the key {key!r:.80} is not UTF-8") from None


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
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--property")
    return key, value
