from __future__ import annotations

import asyncio
import errno
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fault.held_disk import HeldDisk
from tests.unit.broker.controller_mode.conftest import PATIENCE_S, StartBroker, until, until_without_lease
from tests.unit.broker.support import Caller, bodies, fields, make_broker

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.controller_mode.controller_client import ControllerClient
from sprocketmq.broker.controller_mode.controller_mode import ControllerMode
from sprocketmq.broker.controller_mode.sync_state import Reign
from sprocketmq.broker.replication.auto_switch import AutoSwitchReplication
from sprocketmq.broker.roles import Role
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Answer, Outcome, ReplicaStanding
from sprocketmq.controller.liveness import LiveIdentity
from sprocketmq.controller.server import Controller
from sprocketmq.errors import RemotingError
from sprocketmq.properties_file import parse_properties
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.ha import EpochEntryCache
from sprocketmq.protocol.ha.epoch_file import encode_epoch_file
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.store.files.disk import Disk


def replication(broker: Broker) -> AutoSwitchReplication:
    assert broker.replication.auto_switch is not None
    return broker.replication.auto_switch


async def whole(master: Broker, *ids: int) -> None:
    await until(lambda: replication(master).in_sync.known == set(ids))


async def pair(start: StartBroker, **entries: str) -> tuple[Broker, Broker]:
    master, slave = await start("one", **entries), await start("two", **entries)
    await whole(master, 1, 2)
    return master, slave


async def read(broker: Broker, count: int) -> list[bytes]:
    await until(lambda: broker.store.max_offset("T", 0) >= count and "T" in broker.topics.configs)
    return bodies(await Caller(broker).pull())


async def write_alone(root: Path, log_end: int) -> None:
    """A log grows behind `log_end` by what nobody else has."""
    alone = make_broker(root)
    await alone.start()
    while alone.store.log.max_offset <= log_end:
        assert (await Caller(alone).send(body=b"only here" + bytes(90_000))).code == ResponseCode.SUCCESS
    await alone.stop()


async def test_the_configuration_tells_the_role_that_was_given(start_broker: StartBroker) -> None:
    for broker, expected in zip(await pair(start_broker), [("0", "SYNC_MASTER"), ("2", "SLAVE")], strict=True):
        caller = Caller(broker)
        told = parse_properties((await caller(RequestCode.GET_BROKER_CONFIG)).body.decode())
        assert (told["brokerId"], told["brokerRole"]) == expected
        await caller.client.close(0.1)


async def test_it_tells_where_its_log_ends_before_it_may_reign(
    start_broker: StartBroker, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk was set back to an older copy, and another one has what it had."""
    broker = await start_broker("one")
    caller = Caller(broker)
    await caller.send(body=b"kept")
    await caller.client.close(0.1)
    end = broker.store.log.max_offset
    await broker.stop()
    await controller.change("broker-a", lambda record, _: Outcome(kept(record).with_in_sync({1, 2}), Answer()))
    once = LiveIdentity("DefaultCluster", "broker-a", 1, broker.address)
    more = ReplicaStanding(1, end + 100)
    await until(lambda: not controller.liveness.lives(once))  # nor has it a lease
    controller.liveness.heartbeat(once, None, standing=more, confirm_offset=end + 100, timeout_ms=100)
    monkeypatch.setattr(controller, "heard", lambda *_: None)  # its heartbeats come later
    starting = asyncio.ensure_future(start_broker("one"))
    await until(lambda: kept(controller.sets.get("broker-a")).in_sync == {2})
    assert kept(controller.sets.get("broker-a")).master is None
    starting.cancel()


def kept(record: BrokerSet | None) -> BrokerSet:
    assert record is not None
    return record


async def test_the_first_is_the_master_and_the_second_follows(start_broker: StartBroker, tmp_path: Path) -> None:
    master, slave = await pair(start_broker)
    assert (master.roles.current.role, master.roles.current.broker_id) == (Role.MASTER, 0)
    assert (slave.roles.current.role, slave.roles.current.broker_id) == (Role.SLAVE, 2)
    assert (tmp_path / "one" / "brokerIdentity").read_text() == "DefaultCluster#broker-a#1"
    assert (tmp_path / "two" / "brokerIdentity").read_text() == "DefaultCluster#broker-a#2"
    assert master.topics.data_version.state_version == 1
    answer = await Caller(master).send(body=b"first")
    assert answer.code == ResponseCode.SUCCESS
    assert slave.store.log.max_offset == master.store.log.max_offset
    assert (tmp_path / "two" / "epochFileCheckpoint").read_text() == (
        tmp_path / "one" / "epochFileCheckpoint"
    ).read_text()
    assert await read(slave, 1) == [b"first"]
    assert (await Caller(slave).send()).code == ResponseCode.SYSTEM_BUSY


async def test_a_slave_takes_over_and_takes_the_old_master_back(start_broker: StartBroker) -> None:
    master, slave = await pair(start_broker)
    for number in range(5):
        assert (await Caller(master).send(body=b"%d" % number)).code == ResponseCode.SUCCESS
    await master.stop()
    await until(lambda: slave.roles.current.is_master)
    answer = await Caller(slave).send(body=b"5")
    assert (answer.code, fields(answer)["queueOffset"]) == (ResponseCode.SUCCESS, "5")
    again = await start_broker("one")
    assert again.roles.current.is_slave
    await whole(slave, 1, 2)
    assert await read(again, 6) == [b"%d" % number for number in range(6)]
    body = codec.decode(EpochEntryCache, (await Caller(again)(RequestCode.GET_BROKER_EPOCH_CACHE)).body)
    assert [(entry.epoch, entry.start_offset) for entry in body.epoch_list] == [
        (each.epoch, each.start) for each in replication(slave).epochs.list
    ]
    assert body.epoch_list[-1].end_offset == (1 << 63) - 1
    assert body.max_offset == slave.store.log.max_offset


async def test_an_old_master_promises_nothing_and_gives_up_what_nobody_has(
    start_broker: StartBroker, controller: Controller, tmp_path: Path
) -> None:
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"promised")).code == ResponseCode.SUCCESS
    in_sync = replication(master).in_sync
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(master.replication.master, "admit", lambda _link: "cut off")
        patch.setattr(in_sync, "wanted", lambda: None)
        patch.setattr(master.settings, "current", replace(master.settings.current, slave_timeout=1))
        master.replication.master.drop("cut off")
        answer = await Caller(master).send(body=b"not promised")
        assert answer.code == ResponseCode.FLUSH_SLAVE_TIMEOUT
        assert master.store.max_offset("T", 0) == 1
        elect = {"clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerId": "2", "designateElect": "true"}
        caller = Caller(master)
        caller._address = f"127.0.0.1:{controller.port}"
        assert (await caller.call(RequestCode.CONTROLLER_ELECT_MASTER, elect)).code == ResponseCode.SUCCESS
        await until(lambda: slave.roles.current.is_master and master.roles.current.is_slave)
    assert (await Caller(slave).send(body=b"after")).code == ResponseCode.SUCCESS
    await whole(slave, 1, 2)
    assert await read(master, 2) == [b"promised", b"after"]
    assert master.store.log.max_offset == slave.store.log.max_offset
    kept = list((tmp_path / "one" / "quarantine").glob("*.log"))
    assert len(kept) == 1
    assert b"not promised" in kept[0].read_bytes()


async def lost(*_: Any, **__: Any) -> Any:
    raise RemotingError("cut off")


def under_controller(broker: Broker) -> ControllerMode:
    assert broker.controller_mode is not None
    return broker.controller_mode


@pytest.mark.parametrize("replicas", [1, 2])
async def test_a_master_goes_on_without_its_controller_while_all_in_sync_follow(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch, replicas: int
) -> None:
    """Nobody else can be the master then. Its replicas say so also where nothing is written."""
    master = await start_broker("one") if replicas == 1 else (await pair(start_broker))[0]
    mode, in_sync = under_controller(master), replication(master).in_sync
    await until(lambda: mode._leased_until is not None and mode._looked_at > 0)
    monkeypatch.setattr(mode.controllers, "ask", lost)
    await until_without_lease(mode, lambda: mode._goes_on)
    assert (await Caller(master).send()).code == ResponseCode.SUCCESS
    asked = asyncio.get_running_loop().time()
    await until(lambda: in_sync.is_followed_by_all(asyncio.get_running_loop().time() - asked))  # they said so since
    assert master.roles.current.is_master
    mode._looked_at -= 2 * PATIENCE_S  # it was asleep, and does not know for how long
    await until_without_lease(mode, lambda: master.roles.current.role is Role.FENCED)


async def test_a_master_without_its_lease_is_fenced_until_it_has_it_again(start_broker: StartBroker) -> None:
    master, _slave = await pair(start_broker)
    mode = under_controller(master)
    ask = mode.controllers.ask
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mode.controllers, "ask", lost)
        patch.setattr(master.replication.master, "admit", lambda _link: "cut off")
        master.replication.master.drop("cut off")
        await until_without_lease(mode, lambda: master.roles.current.role is Role.FENCED)
        assert (await Caller(master).send()).code != ResponseCode.SUCCESS
        assert [why.partition(":")[0] for why in master.unready()] == ["fenced"]
    assert mode.controllers.ask == ask
    await until(lambda: master.roles.current.is_master)
    assert master.unready() == []
    assert (await Caller(master).send()).code == ResponseCode.SUCCESS


async def test_a_disk_that_hangs_costs_the_role(start_broker: StartBroker) -> None:
    master, slave = await pair(start_broker)
    with pytest.MonkeyPatch.context() as patch:
        soon = replace(master.settings.current, controller_heart_beat_timeout_mills=1)
        patch.setattr(master.settings, "current", soon)
        under_controller(master)._beat()  # its last
        patch.setattr(type(master.store.flusher), "hangs", lambda self, _s: self is master.store.flusher)
        await until(lambda: slave.roles.current.is_master)
        assert (await Caller(slave).send()).code == ResponseCode.SUCCESS
    await until(lambda: master.roles.current.is_slave)


async def test_a_master_whose_disk_hangs_does_not_make_itself_the_only_one(
    start_broker: StartBroker, controller: Controller
) -> None:
    """By its heartbeats the controller takes it for alive long after its lease is over and its replicas are let go."""
    master, slave = await pair(start_broker)
    mode = under_controller(master)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(master.store.flusher), "hangs", lambda self, _s: self is master.store.flusher)
        await until_without_lease(mode, lambda: master.roles.current.role is Role.FENCED)
        await until(lambda: slave.replication.slave.stream is None)
        await mode._set_changes._look_at_set()
        record = controller.sets.get("broker-a")
        assert record is not None
        assert record.in_sync == {1, 2}
    await until(lambda: master.roles.current.is_master)
    await whole(master, 1, 2)


async def test_a_fenced_master_asks_for_no_set(start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    master, _ = await pair(start_broker)
    mode = under_controller(master)
    asked: list[int] = []

    async def lost(code: int, *_: Any, **__: Any) -> Any:
        asked.append(code)
        raise RemotingError("cut off")

    monkeypatch.setattr(mode.controllers, "ask", lost)
    monkeypatch.setattr(replication(master).in_sync, "is_followed_by_all", lambda _within: False)
    await until_without_lease(mode, lambda: master.roles.current.role is Role.FENCED)
    await until(lambda: not replication(master).in_sync.links)
    assert replication(master).in_sync.wanted() == frozenset({1})
    await mode._set_changes._look_at_set()
    assert set(asked) == {RequestCode.CONTROLLER_GET_REPLICA_INFO}


async def test_a_master_that_was_fenced_for_a_moment_waits_for_its_replicas(
    start_broker: StartBroker, controller: Controller
) -> None:
    """It let them go itself: that they are not there is no reason to go on without them."""
    master, _ = await pair(start_broker, haMaxTimeSlaveNotCatchup="600000")
    mode, in_sync = under_controller(master), replication(master).in_sync
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(master.replication.master, "admit", lambda _link: "not yet")
        with pytest.MonkeyPatch.context() as cut:
            cut.setattr(mode.controllers, "ask", lost)
            cut.setattr(in_sync, "is_followed_by_all", lambda _within: False)
            await until_without_lease(mode, lambda: master.roles.current.role is Role.FENCED)
            await until(lambda: not in_sync.links)
        await until(lambda: master.roles.current.is_master)
        assert in_sync.wanted() is None
        await mode._set_changes._look_at_set()
        record = controller.sets.get("broker-a")
        assert record is not None
        assert record.in_sync == {1, 2}
    await until(lambda: len(in_sync.in_sync()) == 1)
    assert (await Caller(master).send()).code == ResponseCode.SUCCESS


async def test_a_new_master_reigns_when_its_epoch_is_on_disk(start_broker: StartBroker, tmp_path: Path) -> None:
    """Until then it takes nothing, and after a while it is not heard of either: another may reign. Readers go on."""
    disk = HeldDisk(tmp_path / "two" / "epochFileCheckpoint.tmp")
    master, slave = await start_broker("one"), await start_broker("two", files=disk)
    await whole(master, 1, 2)
    assert (await Caller(master).send(body=b"first")).code == ResponseCode.SUCCESS
    assert await read(slave, 1) == [b"first"]
    mode, epochs = under_controller(slave), replication(slave).epochs
    beats: list[object] = []
    disk.synced_by_loop.clear()
    disk.going.clear()
    try:
        await master.stop()
        await until(disk.waiting.is_set)
        assert slave.roles.current.role is Role.FENCED
        assert (await Caller(slave).send()).code == ResponseCode.SYSTEM_BUSY
        assert await read(slave, 1) == [b"first"]
        await until(epochs.hangs)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mode.controllers, "beat", beats.append)
            mode._beat()
        assert beats == []
    finally:
        disk.going.set()
    await until(lambda: slave.roles.current.is_master)
    assert (await Caller(slave).send(body=b"second")).code == ResponseCode.SUCCESS
    assert await read(slave, 2) == [b"first", b"second"]
    assert [path.name for path in disk.synced_by_loop if path.name.startswith("epochFile")] == []


async def test_a_slave_that_is_gone_holds_up_nobody(start_broker: StartBroker) -> None:
    master, slave = await pair(start_broker)
    await slave.stop()
    assert (await Caller(master).send()).code == ResponseCode.SUCCESS
    await whole(master, 1)


async def test_an_empty_replica_gets_the_whole_log(start_broker: StartBroker) -> None:
    master = await start_broker("one")
    for number in range(20):
        assert (await Caller(master).send(body=b"%d" % number)).code == ResponseCode.SUCCESS
    slave = await start_broker("two")
    await whole(master, 1, 2)
    assert await read(slave, 20) == [b"%d" % number for number in range(20)]


async def test_a_replica_behind_the_oldest_file_begins_anew(start_broker: StartBroker, tmp_path: Path) -> None:
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"old")).code == ResponseCode.SUCCESS
    await slave.stop()
    for _ in range(30):
        assert (await Caller(master).send(body=bytes(90_000))).code == ResponseCode.SUCCESS
    master.store.log.remove_first()
    await start_broker("two")
    await whole(master, 1, 2)
    again = await start_broker("three")
    await whole(master, 1, 2, 3)
    for name in ("two", "three"):  # both have all that the master has: from its first file on
        first = min(path.name for path in (tmp_path / name / "commitlog").iterdir())
        assert int(first) == master.store.log.min_offset > 0
    assert replication(again).epochs.list == replication(master).epochs.list
    assert [path.name for path in (tmp_path / "two" / "quarantine").glob("*/*")] == ["0" * 20]


async def test_a_replica_keeps_the_epochs_that_its_master_no_longer_has(start_broker: StartBroker) -> None:
    """Without the one they share, it could not lead the others later."""
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"first")).code == ResponseCode.SUCCESS
    await master.stop()
    await until(lambda: slave.roles.current.is_master)
    assert (await Caller(slave).send(body=b"second")).code == ResponseCode.SUCCESS
    old, shared = replication(slave).epochs.list
    again = await start_broker("one")
    await whole(slave, 1, 2)
    await again.stop()
    await replication(slave).epochs._begin(lambda epochs: epochs.expire(shared.start))
    once_more = await start_broker("one")
    await whole(slave, 1, 2)
    assert replication(once_more).epochs.list.all == (old, shared)


async def test_a_replica_whose_only_epoch_is_gone_at_its_master_begins_anew(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    """It is not behind: with what only it has, its log ends after the oldest file of the master."""
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"shared")).code == ResponseCode.SUCCESS
    await master.stop()
    await until(lambda: slave.roles.current.is_master)
    for _ in range(30):
        assert (await Caller(slave).send(body=bytes(90_000))).code == ResponseCode.SUCCESS
    slave.store.log.remove_first()
    await replication(slave).epochs._begin(lambda epochs: epochs.expire(slave.store.log.min_offset))
    left = slave.store.log.min_offset
    assert [each.epoch for each in replication(slave).epochs.list] == [2]
    await write_alone(tmp_path / "one", left)
    again = await start_broker("one")
    await whole(slave, 1, 2)
    assert replication(again).epochs.list == replication(slave).epochs.list
    assert (again.store.log.min_offset, again.store.log.max_offset) == (left, slave.store.log.max_offset)
    kept = sorted((tmp_path / "one" / "quarantine").glob("behind-*/*"))
    assert b"only here" in kept[-1].read_bytes()


async def test_a_replica_that_has_cleaned_what_it_shared_begins_anew(start_broker: StartBroker, tmp_path: Path) -> None:
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"shared")).code == ResponseCode.SUCCESS
    await master.stop()
    await until(lambda: slave.roles.current.is_master)
    assert (await Caller(slave).send(body=b"after")).code == ResponseCode.SUCCESS
    await write_alone(tmp_path / "one", 2 << 20)
    min((tmp_path / "one" / "commitlog").iterdir()).unlink()
    again = await start_broker("one")
    await whole(slave, 1, 2)
    assert await read(again, 2) == [b"shared", b"after"]
    assert len(list((tmp_path / "one" / "quarantine").glob("behind-*/*"))) == 2


async def test_a_log_of_another_controller_is_not_touched(start_broker: StartBroker, tmp_path: Path) -> None:
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"promised")).code == ResponseCode.SUCCESS
    await slave.stop()
    epochs = tmp_path / "two" / "epochFileCheckpoint"
    epochs.write_text(encode_epoch_file([Epoch(7, 0)]))
    again = await start_broker("two")
    await until(lambda: "an operator must decide" in again.replication.slave.trouble)
    assert again.store.log.max_offset == master.store.log.max_offset
    assert "7 from 0" in again.replication.slave.trouble


async def test_a_log_that_lost_its_epochs_is_not_mixed_with_another(start_broker: StartBroker, tmp_path: Path) -> None:
    """Shorter than its master's, it would be followed from where it ends: its last message tells whose it is."""
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"promised")).code == ResponseCode.SUCCESS
    await master.stop()
    shared = master.store.log.max_offset
    await until(lambda: slave.roles.current.is_master)
    await write_alone(tmp_path / "one", shared)
    for path in (tmp_path / "one").glob("epochFileCheckpoint*"):
        path.write_text("damaged")
    while slave.store.log.max_offset < shared + 100_000:
        assert (await Caller(slave).send(body=bytes(10_000))).code == ResponseCode.SUCCESS
    again = await start_broker("one")
    end = again.store.log.max_offset
    await until(lambda: "diverged" in again.replication.slave.trouble)
    assert again.store.log.max_offset == end
    assert replication(slave).in_sync.known == {2}


async def test_a_log_that_lost_its_epochs_goes_on_where_it_is_the_masters(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"before")).code == ResponseCode.SUCCESS
    await slave.stop()
    for path in (tmp_path / "two").glob("epochFileCheckpoint*"):
        path.unlink()
    await whole(master, 1)
    assert (await Caller(master).send(body=b"after")).code == ResponseCode.SUCCESS
    again = await start_broker("two")
    await whole(master, 1, 2)
    assert await read(again, 2) == [b"before", b"after"]


async def test_a_learner_is_never_in_sync(start_broker: StartBroker) -> None:
    master = await start_broker("one")
    learner = await start_broker("two", asyncLearner="true")
    assert (await Caller(master).send()).code == ResponseCode.SUCCESS
    await until(lambda: learner.store.log.max_offset == master.store.log.max_offset)
    await asyncio.sleep(0)
    assert replication(master).in_sync.wanted() is None
    assert replication(master).in_sync.known == {1}


async def test_too_few_in_sync_take_nothing(start_broker: StartBroker) -> None:
    master = await start_broker("one", minInSyncReplicas="2")
    answer = await Caller(master).send()
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough")
    await start_broker("two", minInSyncReplicas="2")
    await whole(master, 1, 2)
    assert (await Caller(master).send()).code == ResponseCode.SUCCESS


async def test_who_may_have_lost_its_tail_says_so_before_it_is_heard_of(
    start_broker: StartBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heard of first, it could be elected without its tail."""
    said: list[str] = []
    beat, register = ControllerClient.beat, ControllerMode._register

    def note_beat(self: ControllerClient, heartbeat: Any) -> None:
        said.append("beat")
        beat(self, heartbeat)

    async def note_register(self: ControllerMode) -> Any:
        said.append(f"register, unclean: {self._unclean_boot}")
        return await register(self)

    await (await start_broker("one")).stop()
    (tmp_path / "one" / "bootId").write_text("before the power cut")
    (tmp_path / "one" / "abort").touch()
    monkeypatch.setattr(ControllerClient, "beat", note_beat)
    monkeypatch.setattr(ControllerMode, "_register", note_register)
    await start_broker("one")
    assert said[:2] == ["register, unclean: True", "beat"]


async def test_who_kept_its_id_and_lost_its_log_is_not_elected(
    start_broker: StartBroker, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk was replaced while nobody lived, and `storePathBrokerIdentity` is on another one."""
    master, slave = await pair(start_broker)
    assert (await Caller(master).send(body=b"promised")).code == ResponseCode.SUCCESS
    monkeypatch.setattr(replication(master).in_sync, "wanted", lambda: None)  # both die at once
    await slave.stop()
    await master.stop()
    for path in (tmp_path / "two").iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "brokerIdentity":
            path.unlink()
    emptied = asyncio.ensure_future(start_broker("two"))
    await until(lambda: next(iter(controller.sets)).in_sync != {1, 2})
    again = await start_broker("one")
    assert again.roles.current.is_master
    await whole(again, 1, 2)
    assert await read(await emptied, 1) == [b"promised"]


class ScarceDisk(Disk):
    """Files whose name begins with `name` cannot be written a few times."""

    def __init__(self, name: str) -> None:
        self.name, self.failures = name, 2

    def write_bytes(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        if path.name.startswith(self.name) and self.failures:
            self.failures -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write_bytes(path, data, sync=sync)


@pytest.mark.parametrize("name", ["brokerIdentity", "bootId", "epochFileCheckpoint"])
async def test_a_file_that_cannot_be_written_for_a_while_costs_no_role(start_broker: StartBroker, name: str) -> None:
    disk = ScarceDisk(name)
    broker = await start_broker("store", files=disk)
    assert disk.failures == 0
    await until(lambda: broker.roles.current.is_master)
    caller = Caller(broker)
    assert (await caller.send()).code == ResponseCode.SUCCESS
    await caller.client.close(0.1)


async def test_a_copy_of_a_masters_store_is_not_its_master(
    start_broker: StartBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two masters of one id would reign in one epoch, and slaves would cut what the longer log had promised."""
    master, slave = await pair(start_broker)
    for saver in master._savers:  # a file that is renamed meanwhile cannot be copied
        await saver.saved()
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    assert (await Caller(master).send(body=b"promised")).code == ResponseCode.SUCCESS
    copy = asyncio.ensure_future(start_broker("copy"))
    await until(lambda: "has no role yet" in caplog.messages)
    told = next(each for each in caplog.records if each.message == "has no role yet")
    assert f"is in use at {master.address}; remove brokerIdentity" in str(told.__dict__)
    (tmp_path / "copy" / "brokerIdentity").unlink()
    joined = await copy
    await whole(master, 1, 2, 3)
    assert master.roles.current.epoch == 1
    for each in (joined, slave):
        assert await read(each, 1) == [b"promised"]


async def test_who_was_removed_follows_nobody(start_broker: StartBroker, controller: Controller) -> None:
    """Nor does one whose id is another's by now: what it confirms would count as the other's."""
    master, slave = await pair(start_broker)
    caller = Caller(master)
    caller._address = f"127.0.0.1:{controller.port}"
    removed = {"brokerName": "broker-a", "brokerControllerIdsToClean": "2", "isCleanLivingBroker": "true"}
    assert (await caller.call(RequestCode.CLEAN_BROKER_DATA, removed)).code == ResponseCode.SUCCESS
    await until(lambda: slave.roles.current.role is Role.FENCED)
    await whole(master, 1)
    assert (await Caller(master).send(body=b"alone")).code == ResponseCode.SUCCESS


async def test_a_log_that_is_not_found_is_searched_once(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Java controller does not tell where the log is, and a master that cannot be reached does not either."""
    _, slave = await pair(start_broker)
    found = asyncio.Event()
    begun: list[int] = []

    async def search(_self: ControllerMode, reign: Reign) -> None:
        begun.append(reign.epoch)
        await found.wait()

    monkeypatch.setattr(ControllerMode, "_find_log", search)
    told = Reign(1, "127.0.0.1:1", 7, frozenset({1}), 1)
    for reign in (told, told, replace(told, epoch=8), replace(told, epoch=8)):
        under_controller(slave)._be_slave(reign)
        await asyncio.sleep(0)
    assert begun == [7, 8]


async def test_a_damaged_record_of_a_slave_is_mended_from_its_master(start_broker: StartBroker, tmp_path: Path) -> None:
    sent = [b"body-%d" % number for number in range(4)]
    master, slave = await pair(start_broker)
    for body in sent:
        assert (await Caller(master).send(body=body)).code == ResponseCode.SUCCESS
    assert await read(slave, len(sent)) == sent
    await slave.stop()
    master_log, log = (tmp_path / name / "commitlog" / f"{0:020}" for name in ("one", "two"))
    log.write_bytes(log.read_bytes().replace(sent[1], b"other!"))
    slave = await start_broker("two")
    caller, again = Caller(slave), await read(slave, len(sent))
    assert (again, bodies(await caller.pull(offset=1))) == (sent[:1], sent[1:])
    assert log.read_bytes() == master_log.read_bytes()
