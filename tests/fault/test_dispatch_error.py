"""A queue file that cannot be made for a moment: nobody else is stopped, and what was sent is readable in the end."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest
from tests.unit.broker.support import Caller, FakeClock, bodies, make_settings

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import ResponseCode
from sprocketmq.store.files.files import Disk, DiskFile


class FewDescriptors(Disk):
    """The next so many queue files of a topic cannot be made."""

    def __init__(self, topic: str) -> None:
        self.failures = 0
        self._topic = topic

    def create(self, path: Path, size: int) -> DiskFile:
        if self.failures and path.parent.parent.name == self._topic:
            self.failures -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return super().create(path, size)


@pytest.mark.parametrize("others_send", [False, True])
async def test_one_queue_that_fails_stops_nobody(tmp_path: Path, others_send: bool) -> None:
    disk = FewDescriptors("X")
    settings = make_settings(tmp_path / "store", flushDiskType="SYNC_FLUSH")
    broker = Broker(settings.current, settings.store, files=disk, clock=FakeClock())
    await broker.start()
    caller = Caller(broker)
    assert (await caller.send("Y", body=b"before")).code == ResponseCode.SUCCESS
    disk.failures = 1
    answers = await asyncio.gather(caller.send("X", body=b"late"), caller.send("Y", body=b"meanwhile"))
    assert [answer.code for answer in answers] == [ResponseCode.SUCCESS] * 2
    if others_send:
        assert (await caller.send("Y", body=b"after")).code == ResponseCode.SUCCESS
    async with asyncio.timeout(60):
        while not broker.store.max_offset("X", 0):  # noqa: ASYNC110 - the broker tells nobody of it
            await asyncio.sleep(0.01)
    assert bodies(await caller.pull("X")) == [b"late"]
    assert bodies(await caller.pull("Y"))[:2] == [b"before", b"meanwhile"]
    await caller.client.close(grace=0.1)
    await broker.stop()
