"""The tables that a slave takes over from its master, and how it learns that one has changed.

A slave of ours asks once a second, by EXCHANGE_BROKER_HA_INFO. To RocketMQ's fields the answer adds

    sprocketTables    name=version of every table, joined by `;`
    sprocketLogEnd    where the log ended when the answer was made

so that only what has changed is fetched, and counts when the slave's log is as far as the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from zlib import crc32

from sprocketmq.broker.delay.levels import Schedule
from sprocketmq.broker.delay.timer import Timer
from sprocketmq.broker.pop.assignment import Assignments
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.store.files.deleted_topics import Deletions

TABLES, LOG_END = "sprocketTables", "sprocketLogEnd"


class MasterTables:
    """The versions of this broker's tables. `boot_ms` tells the counters of one run from those of the next."""

    def __init__(
        self, topics: TopicTable, groups: GroupTable, offsets: ConsumerOffsets, mappings: QueueMappings,
        schedule: Schedule, timer: Timer, assignments: Assignments, deletions: Deletions, boot_ms: int,
    ) -> None:  # fmt: skip
        self._versions: dict[str, Callable[[], str]] = {
            "topics": lambda: f"{_text(topics.data_version)}.{_text(mappings.data_version)}{_crc(deletions)}",
            "groups": lambda: _text(groups.data_version),
            "offsets": lambda: f"{boot_ms}.{offsets.changes}",
            "delays": lambda: str(crc32(repr(schedule.offsets()).encode())),
            "modes": lambda: str(crc32(codec.encode(assignments.body()))),
            "timers": lambda: f"{timer.files.check.timestamp}.{timer.files.check.counter}",
        }

    def __str__(self) -> str:
        return ";".join(f"{name}={version()}" for name, version in self._versions.items())


def _text(version: DataVersion) -> str:
    return f"{version.state_version}.{version.timestamp}.{version.counter}"


def _crc(deletions: Deletions) -> str:
    """Deletions that are followed by a new topic of the name change the table as well."""
    return f".{crc32(repr(deletions).encode())}" if deletions else ""


def versions_in(fields: Mapping[str, str]) -> dict[str, str] | None:
    """What a master told; None of one that is not ours."""
    text = fields.get(TABLES)
    if text is None:
        return None
    return {name: version for name, _, version in (part.partition("=") for part in text.split(";")) if version}
