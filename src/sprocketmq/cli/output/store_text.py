"""What the `sprocket store` commands print for people."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table


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
    console = Console()
    log = row["commitLog"]
    console.print(
        f"commit log {log['minOffset']} .. {log['maxOffset']}"
        f"{', after recovery from a crash (or the broker runs)' if row['abortFilePresent'] else ''}",
        highlight=False,
    )
    console.print(_queues(row["topics"]))
    console.print(_pairs("checkpoint", {name: clock(value) for name, value in row["checkpoint"].items()}))
    for title, name in (("consumer offsets", "consumerOffsets"), ("delay offsets", "delayOffsets")):
        if row[name]:
            console.print(_pairs(title, row[name]))
    if row["indexFilesAfterOpen"]:
        console.print(_index_files(row["indexFilesAfterOpen"]))


def _queues(topics: dict[str, dict[str, dict[str, int]]]) -> Table:
    table = Table("topic", "queue", "min", "max", title="queues", title_justify="left")
    for topic, queues in topics.items():
        for queue_id, bounds in queues.items():
            table.add_row(topic, queue_id, str(bounds["minOffset"]), str(bounds["maxOffset"]))
    return table


def _pairs(title: str, values: dict[str, Any]) -> Table:
    table = Table("name", "value", title=title, title_justify="left")
    for name, value in values.items():
        text = " ".join(f"{key}:{offset}" for key, offset in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(name, text)
    return table


def _index_files(files: list[dict[str, Any]]) -> Table:
    table = Table("file", "from", "to", "entries", "slots", title="index files", title_justify="left")
    for file in files:
        table.add_row(
            file["file"],
            clock(file["beginTimestamp"]),
            clock(file["endTimestamp"]),
            str(file["indexCount"] - 1),
            str(file["hashSlotCount"]),
        )
    return table
