"""What the `sprocket store` commands print for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from sprocketmq.cli.output.tables import bold, print_table


def clock(timestamp: int) -> str:
    """Milliseconds as local time; `-` for none."""
    if timestamp <= 0:
        return "-"
    try:
        return datetime.fromtimestamp(timestamp / 1000).isoformat(" ", "milliseconds")
    except (ValueError, OverflowError, OSError):
        return str(timestamp)


def message_line(row: dict[str, Any]) -> str:
    """One message on one line: place, time, tag, keys, body."""
    if "error" in row:
        place = f"{row['topic']}/{row['queueId']}/{row['queueOffset']}" if "topic" in row else row["file"]
        return f"{place} @{row['physicalOffset']} DAMAGED {row['error']}"
    place = f"{row['topic']}/{row['queueId']}/{row['queueOffset']}"
    body = row.get("body", f"{row['bodyLength']} bytes").replace("\n", "\\n")
    return (
        f"{place} @{row['physicalOffset']} {clock(row['storeTimestamp'])} "
        f"tag={row['tags'] or '-'} keys={row['keys'] or '-'} {body}"
    )


def print_stat(row: dict[str, Any]) -> None:
    log = row["commitLog"]
    state = ", after recovery from a crash (or the broker runs)" if row["abortFilePresent"] else ""
    click.echo(f"commit log {log['minOffset']} .. {log['maxOffset']}{state}")
    _section("queues", ("topic", "queue", "min", "max"), _queues(row["topics"]))
    _section("checkpoint", ("name", "value"), [[name, clock(value)] for name, value in row["checkpoint"].items()])
    for title, name in (("consumer offsets", "consumerOffsets"), ("delay offsets", "delayOffsets")):
        _section(title, ("name", "value"), _pairs(row[name] or {}))
    _section("index files", ("file", "from", "to", "entries", "slots"), _index_files(row["indexFilesAfterOpen"]))


def _section(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        click.echo(f"\n{bold(title)}")
        print_table(columns, rows)


def _queues(topics: dict[str, dict[str, dict[str, int]]]) -> list[list[str]]:
    return [
        [topic, queue_id, str(bounds["minOffset"]), str(bounds["maxOffset"])]
        for topic, queues in topics.items()
        for queue_id, bounds in queues.items()
    ]


def _pairs(values: dict[str, Any]) -> list[list[str]]:
    return [
        [name, " ".join(f"{key}:{offset}" for key, offset in value.items()) if isinstance(value, dict) else str(value)]
        for name, value in values.items()
    ]


def _index_files(files: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            file["file"],
            clock(file["beginTimestamp"]),
            clock(file["endTimestamp"]),
            str(file["indexCount"] - 1),
            str(file["hashSlotCount"]),
        ]
        for file in files
    ]
