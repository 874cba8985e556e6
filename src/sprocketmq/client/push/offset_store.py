"""Where a group's offsets are kept: on the brokers when its members share the queues, in a file when each has them all.

Offsets are noted in memory as messages are settled and written by `persist`, so a crash repeats a few seconds. A broker
has answered when `persist` returns, so nothing is lost by closing the connection after it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from sprocketmq.atomic_file import replace_file
from sprocketmq.client.cluster import queue_offsets
from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.errors import BodyError
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.offsets import ResetOffsetBody
from sprocketmq.protocol.message_queue import MessageQueue

log = logging.getLogger("sprocketmq.client.push.offset_store")


class OffsetStore(Protocol):
    async def read(self, queue: MessageQueue) -> int | None:
        """The committed offset; None when there is none. Raises when it cannot be known now."""
        ...

    def note(self, queue: MessageQueue, offset: int) -> None: ...

    def noted(self, queue: MessageQueue) -> int | None: ...

    def forget(self, queue: MessageQueue) -> None: ...

    async def persist(self, queues: Iterable[MessageQueue] | None = None, *, last_within: float | None = None) -> None:
        """Write what changed, of these queues or of all.

        `last_within` says that nobody will write them later: what fails is tried again for so many seconds.
        """
        ...


class BrokerOffsets:
    """The offsets of a clustering group."""

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance, self._group = instance, group
        self._noted: dict[MessageQueue, int] = {}
        self._written: dict[MessageQueue, int] = {}
        self._one_at_a_time = asyncio.Lock()

    async def read(self, queue: MessageQueue) -> int | None:
        offset = await queue_offsets.committed(self._instance, self._group, queue)
        if offset is not None:
            self._noted[queue] = self._written[queue] = offset
        return offset

    def note(self, queue: MessageQueue, offset: int) -> None:
        self._noted[queue] = offset

    def noted(self, queue: MessageQueue) -> int | None:
        return self._noted.get(queue)

    def forget(self, queue: MessageQueue) -> None:
        self._noted.pop(queue, None)
        self._written.pop(queue, None)

    async def persist(self, queues: Iterable[MessageQueue] | None = None, *, last_within: float | None = None) -> None:
        chosen = None if queues is None else set(queues)
        async with self._one_at_a_time:
            noted = {queue: offset for queue, offset in self._noted.items() if chosen is None or queue in chosen}
            changed = {queue: offset for queue, offset in noted.items() if offset != self._written.get(queue)}
            failed = await queue_offsets.commit_all(self._instance, self._group, changed, within=last_within or 0.0)
            self._written |= {queue: offset for queue, offset in changed.items() if queue not in failed}
        level = logging.INFO if last_within is None else logging.WARNING  # the next tick tries again, or nobody does
        for queue, error in failed.items():
            has = self._written.get(queue)
            log.log(level, "offset not committed group=%s queue=%s offset=%d committed=%s error=%s",
                    self._group, queue, changed[queue], has, error)  # fmt: skip


class FileOffsets:
    """The offsets of one broadcasting consumer, in the file and form that Java clients use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._noted: dict[MessageQueue, int] = _load(path)
        self._dirty = False

    async def read(self, queue: MessageQueue) -> int | None:
        return self._noted.get(queue)

    def note(self, queue: MessageQueue, offset: int) -> None:
        self._noted[queue] = offset
        self._dirty = True

    def noted(self, queue: MessageQueue) -> int | None:
        return self._noted.get(queue)

    def forget(self, queue: MessageQueue) -> None:
        """A queue that comes back goes on where it was: nothing is forgotten."""

    async def persist(self, queues: Iterable[MessageQueue] | None = None, *, last_within: float | None = None) -> None:
        if self._dirty:
            self._dirty = False
            await asyncio.to_thread(_save, self._path, dict(self._noted))


def _load(path: Path) -> dict[MessageQueue, int]:
    for candidate in (path, path.with_suffix(path.suffix + ".bak")):
        try:
            return dict(codec.decode(ResetOffsetBody, candidate.read_bytes()).offset_table)
        except FileNotFoundError:
            continue
        except BodyError as damage:
            log.warning("offsets unreadable path=%s error=%s", candidate, damage)
    return {}


def _save(path: Path, table: dict[MessageQueue, int]) -> None:
    backup = path.with_suffix(path.suffix + ".bak") if path.exists() else None
    replace_file(path, codec.encode_pretty(ResetOffsetBody(offset_table=table)), backup=backup)


def default_path(client_id: str, group: str) -> Path:
    return Path.home() / ".rocketmq_offsets" / client_id / group / "queue_offsets.json"
