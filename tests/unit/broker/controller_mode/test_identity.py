from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.fault.held_disk import HeldDisk
from tests.unit.broker.controller_mode.conftest import until

from sprocketmq.broker.controller_mode.controller_client import ControllerClient
from sprocketmq.broker.controller_mode.identity import BootNote, Identity
from sprocketmq.codes import RequestCode
from sprocketmq.errors import ConfigError, RemotingError, RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.store.files.disk import Disk


class Office(ControllerClient):
    """Gives ids, as far as a test lets it."""

    def __init__(self) -> None:
        self.asked: list[RequestCode] = []
        self.given: dict[str, str] = {}
        self.fault: Exception | None = None

    async def demand(self, code: RequestCode, *headers: object, body: bytes = b"") -> Command:
        self.asked.append(code)
        fields: dict[str, Any] = to_ext_fields(headers[0])
        if code == RequestCode.CONTROLLER_GET_NEXT_BROKER_ID:
            return Command(0, ext_fields={"nextBrokerId": str(len(self.given) + 1)})
        if self.fault is not None:
            raise self.fault
        if self.given.setdefault(fields["appliedBrokerId"], fields["registerCheckCode"]) != fields["registerCheckCode"]:
            raise RequestRefused(2014, "taken")
        return Command(0)


def identity(root: Path, office: Office, name: str = "ha-a", code: str = "here:1;5") -> Identity:
    return Identity(Disk(), root / "brokerIdentity", "HaCluster", name, office, lambda: code)


async def test_an_id_is_applied_for_once(tmp_path: Path) -> None:
    office = Office()
    assert await identity(tmp_path, office).broker_id() == 1
    assert (tmp_path / "brokerIdentity").read_text() == "HaCluster#ha-a#1"
    assert not (tmp_path / "brokerIdentity-temp").exists()
    office.asked.clear()
    assert await identity(tmp_path, office).broker_id() == 1
    assert office.asked == []


async def test_an_answer_that_is_lost_costs_no_id(tmp_path: Path) -> None:
    office = Office()
    office.fault = RemotingError("lost")
    with pytest.raises(RemotingError):
        await identity(tmp_path, office).broker_id()
    assert (tmp_path / "brokerIdentity-temp").read_text() == "HaCluster#ha-a#1#here:1;5"
    office.given["1"] = "here:1;5"
    office.fault = None
    assert await identity(tmp_path, office, code="here:1;6").broker_id() == 1


async def test_an_id_that_another_was_quicker_to_take(tmp_path: Path) -> None:
    office = Office()
    office.given["1"] = "there:1;4"
    (tmp_path / "brokerIdentity-temp").write_text("HaCluster#ha-a#1#here:1;5")
    with pytest.raises(RequestRefused):
        await identity(tmp_path, office).broker_id()
    assert await identity(tmp_path, office).broker_id() == 2


async def test_a_torn_application_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "brokerIdentity-temp").write_text("HaCl")
    assert await identity(tmp_path, Office()).broker_id() == 1


async def test_a_store_of_another_broker_is_not_taken(tmp_path: Path) -> None:
    await identity(tmp_path, Office()).broker_id()
    with pytest.raises(ConfigError, match=r"brokerName: .*brokerIdentity is of HaCluster#ha-a, this broker is"):
        await identity(tmp_path, Office(), "other").broker_id()


async def test_a_machine_that_started_anew_is_noticed(tmp_path: Path) -> None:
    boot = tmp_path / "boot_id"
    boot.write_text("one\n")
    note = BootNote(Disk(), tmp_path / "bootId", boot)
    assert not note.changed()
    await note.write()
    assert not note.changed()
    boot.write_text("two\n")
    note = BootNote(Disk(), tmp_path / "bootId", boot)
    assert note.changed()
    await note.write()
    assert not note.changed()
    assert not BootNote(Disk(), tmp_path / "other", tmp_path / "missing").changed()


async def test_a_failed_sync_counts_as_a_power_cut_until_it_was_told(tmp_path: Path) -> None:
    note = BootNote(Disk(), tmp_path / "bootId")
    await note.write()
    note.spoil()
    await note.write()  # of a start that is slow: what was spoiled stays so
    again = BootNote(Disk(), tmp_path / "bootId")
    await until(again.changed)
    await again.write()
    assert not again.changed()


async def test_a_disk_on_which_nothing_can_be_noted_is_no_end(tmp_path: Path) -> None:
    in_the_way = tmp_path / "store"
    in_the_way.touch()
    note = BootNote(Disk(), in_the_way / "bootId")
    note.spoil()
    await until(lambda: note._spoiling is None)
    in_the_way.unlink()
    note.spoil()
    await until(note.changed)


async def test_a_note_that_is_being_written_is_spoiled_after_it(tmp_path: Path) -> None:
    disk = HeldDisk(tmp_path)
    disk.going.clear()
    note = BootNote(disk, tmp_path / "bootId")
    writing = asyncio.ensure_future(note.write())
    try:
        await until(disk.waiting.is_set)
        note.spoil()
    finally:
        disk.going.set()
    await writing
    assert not note.changed()
    note.spoil()
    await until(note.changed)


async def test_an_id_is_safe_before_it_is_used_and_holds_up_nobody(tmp_path: Path) -> None:
    disk, office = HeldDisk(tmp_path), Office()
    disk.going.clear()
    asking = asyncio.ensure_future(
        Identity(disk, tmp_path / "brokerIdentity", "HaCluster", "ha-a", office, lambda: "here:1;5").broker_id()
    )
    try:
        await until(disk.waiting.is_set)
        assert office.given == {}  # not before the application is noted
    finally:
        disk.going.set()
    assert await asking == 1
    assert disk.synced_by_loop == []
