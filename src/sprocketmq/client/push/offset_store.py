"""Where a group's offsets are kept: on the brokers when its members share the queues, in a file when each has them all.

Offsets are noted in memory as messages are settled and written by `persist`, so a crash repeats a few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from sprocketmq.client.cluster import queue_offsets
from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.errors import ClientError
from sprocketmq.errors import BodyError
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.offsets import ResetOffsetBody
from sprocketmq.protocol.message_queue import MessageQueue

log = logging.getLogger(__name__)


class OffsetStore(Protocol):
    async def read(self, queue: MessageQueue) -> int | None:
        """The committed offset; None when there is none. Raises when it cannot be known now."""
        ...

    def note(self, queue: MessageQueue, offset: int) -> None: ...

    def noted(self, queue: MessageQueue) -> int | None: ...

    def forget(self, queue: MessageQueue) -> None: ...

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        """Write what changed, of these queues or of all."""
        ...


class BrokerOffsets:
    """The offsets of a clustering group."""

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance, self._group = instance, group
        self._noted: dict[MessageQueue, int] = {}
        self._written: dict[MessageQueue, int] = {}

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

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
        chosen = list(self._noted) if queues is None else [queue for queue in queues if queue in self._noted]
        changed = [queue for queue in chosen if self._noted[queue] != self._written.get(queue)]
        results = await asyncio.gather(*(self._write(queue) for queue in changed), return_exceptions=True)
        for queue, result in zip(changed, results, strict=True):
            if isinstance(result, ClientError):
                log.info("offset not committed queue=%s error=%s", queue, result)
            elif isinstance(result, BaseException):
                raise result

    async def _write(self, queue: MessageQueue) -> None:
        offset = self._noted[queue]
        await queue_offsets.commit(self._instance, self._group, queue, offset)
        self._written[queue] = offset


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

    async def persist(self, queues: Iterable[MessageQueue] | None = None) -> None:
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
    """Beside, synced, renamed: a crash leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(path.suffix + ".tmp")
    with beside.open("wb") as file:
        file.write(codec.encode_pretty(ResetOffsetBody(offset_table=table)))
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        path.replace(path.with_suffix(path.suffix + ".bak"))
    beside.replace(path)


def default_path(client_id: str, group: str) -> Path:
    return Path.home() / ".rocketmq_offsets" / client_id / group / "queue_offsets.json"
