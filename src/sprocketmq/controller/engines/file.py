"""The engine of one controller: a JSON file, replaced and synced as a whole before a change counts.

    {"sets": [BrokerSet, ...]}

A lock beside it keeps a second controller away. While this one is down nobody is elected and no set changes; brokers
go on as they are.

A write that failed may have changed the file all the same, and what a killed process left may be in the memory of the
system alone: so what is read after a failure, or at a start, is written once more before it counts. At a start a disk
that takes nothing now is no reason not to lead.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from sprocketmq.atomic_file import LOCAL, FileSystem, replace_file
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.engines import EngineFailed, Member
from sprocketmq.errors import BodyError, SprocketError
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.fields import wire

events = Events("sprocketmq.controller.engines")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    sets: tuple[BrokerSet, ...] = wire("sets", default=())


class FileEngine:
    def __init__(self, path: Path, files: FileSystem = LOCAL) -> None:
        self._path = path
        self._files = files
        self._sets: dict[str, BrokerSet] = {}
        self._lock: int | None = None
        #: What is known to be on disk; None before the first look.
        self._safe: bytes | None = None

    async def start(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._path.with_name(f"{self._path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise SprocketError(f"{self._path}: another controller uses it") from None
        self._lock = lock

    async def stop(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def lead(self, own: Member) -> AsyncIterator[Member | None]:
        yield own
        await asyncio.Event().wait()  # until it is cancelled: there is no other

    async def load(self) -> dict[str, BrokerSet]:
        try:
            data = self._files.read_bytes(self._path)
            kept = codec.decode(_Kept, data)
        except FileNotFoundError:
            data, kept = b"", _Kept()
        except BodyError as error:
            raise SprocketError(f"{self._path}: {error}") from None
        except OSError as error:
            raise EngineFailed(f"{self._path}: {error.strerror or error}") from None
        if data != self._safe:
            await self._write_again(data)
        self._sets = {each.name: each for each in kept.sets}
        return dict(self._sets)

    async def swap(self, expected: BrokerSet | None, new: BrokerSet | None) -> None:
        name = (new or expected or BrokerSet()).name
        if self._sets.get(name) != expected:
            raise EngineFailed(f"{self._path}: the record of {name} is another one by now")
        sets = {key: value for key, value in self._sets.items() if key != name}
        if new is not None:
            sets[name] = new
        await self._write(codec.encode(_Kept(sets=tuple(sets.values()))))
        self._sets = sets

    async def _write_again(self, data: bytes) -> None:
        begins = self._safe is None
        try:
            if data:
                await self._write(data)
        except EngineFailed as error:
            if not begins:
                raise
            events.warning("state not written again", reason=error)
        self._safe = data

    async def _write(self, data: bytes) -> None:
        try:
            await asyncio.to_thread(replace_file, self._path, data, self._files)
        except OSError as error:
            raise EngineFailed(f"{self._path}: {error.strerror or error}") from None
        self._safe = data
