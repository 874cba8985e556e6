"""Pages of mapped files that the disk cannot read, or has no room for: errors of those who need them alone.

A file that is cut short under its map stands in for the disk: behind its end an access is a SIGBUS, as on a bad sector.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.fault.strangers.besieged import Besieged, besieged_broker
from tests.unit.broker.support import Caller, bodies
from tests.unit.store import support

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.command import Command
from sprocketmq.store.files.disk import Disk, DiskFile
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.replica import Replica
from sprocketmq.store.view import LocalSource, StoreView
from sprocketmq.store.view.scan_batches import scan
from sprocketmq.store.view.source import ByteFile

PAGE = 4096
BODY = bytes(900)


@asynccontextmanager
async def filled_broker(folder: Path) -> AsyncIterator[tuple[Besieged, Caller]]:
    """U's messages are in the first pages of the log, T's and V's behind them; V's queue has two pages."""
    async with besieged_broker(folder, adminAllowLocal="true") as broker:
        caller = Caller(broker)
        for topic, count in (("U", 5), ("T", 40), ("V", 250)):
            for number in range(count):
                answer = await caller.send(topic, BODY if topic != "V" else b"v", KEYS=f"{topic}{number}")
                assert answer.code == ResponseCode.SUCCESS, answer.remark
        try:
            yield broker, caller
        finally:
            await caller.client.close(grace=0.1)


def cut_short(folder: Path, size: int) -> Path:
    """The only file below the folder."""
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    os.truncate(path, size)
    return path


async def view(caller: Caller, commit_offset: int) -> Command:
    return await caller(RequestCode.VIEW_MESSAGE_BY_ID, offset=commit_offset)


async def query(caller: Caller, topic: str, key: str) -> Command:
    return await caller(
        RequestCode.QUERY_MESSAGE, topic=topic, key=key, maxNum=32, beginTimestamp=0, endTimestamp=1 << 60
    )


def assert_refused(*answers: Command) -> None:
    assert [(answer.code, answer.remark) for answer in answers] == [
        (ResponseCode.SYSTEM_ERROR, "internal error: StoreCorrupt")
    ] * len(answers)


def assert_served(*answers: Command) -> None:
    assert [answer.code for answer in answers] == [ResponseCode.SUCCESS] * len(answers), answers


async def test_of_the_log(tmp_path: Path) -> None:
    async with filled_broker(tmp_path) as (broker, caller):
        at = int.from_bytes((await query(caller, "T", "T39")).body[28:36], "big")
        path = cut_short(tmp_path / "store/commitlog", 2 * PAGE)
        assert bodies(await caller.pull("U")) == [BODY] * 5
        for _again in range(2):
            assert_refused(
                await caller.pull("T"),
                await caller.pull("T", 39),
                await view(caller, at),
                await query(caller, "T", "T39"),
            )
        assert_served(await caller.pull("U"), await query(caller, "U", "U1"))
        assert f"{path}: the page at {2 * PAGE} cannot be read" in broker.log.read_text()


async def test_of_the_log_that_is_readable_again(tmp_path: Path) -> None:
    """The next request asks the disk anew."""
    async with filled_broker(tmp_path) as (_broker, caller):
        path = tmp_path / "store/commitlog/00000000000000000000"
        content = path.read_bytes()
        cut_short(path.parent, 2 * PAGE)
        assert_refused(await caller.pull("T", 20))
        os.truncate(path, len(content))
        with path.open("r+b") as file:
            file.write(content)
        assert bodies(await caller.pull("T", 20, count=1)) == [BODY]


async def test_of_a_queue(tmp_path: Path) -> None:
    async with filled_broker(tmp_path) as (broker, caller):
        path = cut_short(tmp_path / "store/consumequeue/V", PAGE)
        assert_served(await caller.pull("V", 0), await caller.pull("T"))
        assert_refused(await caller.pull("V", 230), await caller.pull("V", 230))
        assert f"{path}: the page at {PAGE} cannot be read" in broker.log.read_text()


async def test_of_the_index(tmp_path: Path) -> None:
    async with filled_broker(tmp_path) as (broker, caller):
        path = cut_short(tmp_path / "store/index", 0)
        assert_served(await caller.pull("T"))
        assert_refused(await query(caller, "T", "T1"), await query(caller, "T", "T1"))
        assert f"{path}: the page at 0 cannot be read" in broker.log.read_text()


@pytest.mark.parametrize("folder", ["commitlog", "consumequeue/T", "index"])
async def test_written_to(tmp_path: Path, folder: str) -> None:
    """What went nowhere is not acknowledged, nor is anything on top of it; what is there is served."""
    async with filled_broker(tmp_path) as (broker, caller):
        path = cut_short(tmp_path / "store" / folder, 2 * PAGE if folder == "commitlog" else 0)
        answers = [await caller.send("T", KEYS=f"late{number}") for number in range(3)]
        assert [answer.code for answer in answers] == [ResponseCode.SERVICE_NOT_AVAILABLE] * 3
        assert_served(await caller.pull("U"))
        assert f"{path} at " in broker.log.read_text()


class ShortUnderMap(Disk):
    """Files whose path has this in it are cut short as soon as they are mapped."""

    def __init__(self, part: str, size: int) -> None:
        self._part, self._size = part, size

    def open(self, path: Path, *, writable: bool = True) -> DiskFile:
        file = super().open(path, writable=writable)
        if self._part in str(path):
            file.map = self._shortening(file.map, path)  # type: ignore[method-assign]
        return file

    def _shortening(self, make_map: Callable[..., memoryview], path: Path) -> Callable[..., memoryview]:
        def shorten(*, writable: bool = True) -> memoryview:
            made = make_map(writable=writable)
            os.truncate(path, self._size)
            return made

        return shorten


def start_and_read(root: Path, files: Disk) -> None:
    store = support.open_store(root, files=files, mapped_file_size_consume_queue=20 * 1000)
    store.reader.query("T", "k", 32, 0, 1 << 60)  # a start after a clean stop leaves index and log alone
    support.read_all(store)


@pytest.mark.parametrize("stop", ["close", "abandon"])
@pytest.mark.parametrize(("part", "size"), [("commitlog", PAGE), ("consumequeue", 0), ("index", 0)])
def test_met_by_a_start(tmp_path: Path, part: str, size: int, stop: str) -> None:
    """It says where, and changes nothing: neither is the log cut there, nor a queue taken for empty."""
    store = support.open_store(tmp_path, mapped_file_size_consume_queue=20 * 1000)
    for number in range(250):
        support.put(store, body=b"%d" % number, KEYS="k")
    getattr(store, stop)()
    sizes = {path: path.stat().st_size for path in tmp_path.rglob("*") if path.is_file() and part not in str(path)}
    with pytest.raises(StoreCorrupt) as raised:
        start_and_read(tmp_path, ShortUnderMap(part, size))
    assert part in str(raised.value.path)
    assert raised.value.offset % PAGE == 0
    assert not (tmp_path / "quarantine").exists()
    assert {path: path.stat().st_size for path in sizes} == sizes


def test_of_the_log_that_a_slave_is_given(tmp_path: Path) -> None:
    store = support.open_store(tmp_path)
    for _ in range(10):
        support.put(store, body=BODY)
    os.truncate(tmp_path / "commitlog/00000000000000000000", PAGE)
    replica = Replica(store, Disk())
    assert replica.slice_at(0, PAGE) is not None
    with pytest.raises(StoreCorrupt):
        replica.slice_at(0, 2 * PAGE)
    assert store.put("T", 0, 0, 0, b"", b"", 0, support.HOST, 0, 0).status == PutStatus.SERVICE_NOT_AVAILABLE
    store.abandon()


class ShortSource(LocalSource):
    """A store whose files with this in their path are cut short as soon as they are mapped for reading."""

    def __init__(self, root: Path, part: str, size: int) -> None:
        super().__init__(root)
        self._part, self._size = part, size

    def open(self, path: str) -> ByteFile:
        file = super().open(path)
        if path.startswith(self._part):
            os.truncate(self.root / path, self._size)
        return file


def look_by_key(source: LocalSource) -> None:
    StoreView(source).find_key("T", "k")


def look_at_all(source: LocalSource) -> None:
    for _ in verify(StoreView(source)):
        pass


def walk_the_log(source: LocalSource) -> None:
    for _ in StoreView(source).read_log():
        pass


def scan_the_log(source: LocalSource) -> None:
    scan(source).read_all()


def scan_the_queues(source: LocalSource) -> None:
    scan(source, by_queue=True, on_damage=lambda _damage: None).read_all()


@pytest.mark.parametrize(
    ("read", "part", "size"),
    [
        (walk_the_log, "commitlog", PAGE),
        (scan_the_log, "commitlog", PAGE),
        (scan_the_queues, "commitlog", 2 * PAGE),
        (scan_the_queues, "consumequeue", 0),
        (look_at_all, "commitlog", PAGE),
        (look_at_all, "consumequeue", 0),
        (look_at_all, "index", 0),
        (look_by_key, "index", 0),
    ],
)
@pytest.mark.parametrize("stop", ["close", "abandon"])
def test_met_by_a_view(tmp_path: Path, read: Callable[[LocalSource], None], part: str, size: int, stop: str) -> None:
    """Who reads a store beside its broker, or without one, is told where, and lives."""
    store = support.open_store(tmp_path, mapped_file_size_consume_queue=20 * 1000)
    for number in range(250):
        support.put(store, body=b"%d" % number, KEYS="k")
    getattr(store, stop)()
    with pytest.raises(StoreCorrupt) as raised:
        read(ShortSource(tmp_path, part, size))
    assert raised.value.path.is_relative_to(tmp_path / part)
    assert raised.value.offset % PAGE == 0
    assert raised.value.offset >= size
    assert raised.value.reason == "the disk cannot read this page"
