from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.controller.conftest import Caller, FakeClock, Listener
from tests.unit.remoting.wire import until

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.engines import EngineFailed, Member, NotLeading
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.controller.figures import figures
from sprocketmq.controller.server import Controller
from sprocketmq.properties_file import parse_properties
from sprocketmq.remoting import Peer

SET = json.dumps({"syncStateSet": [1, 2], "syncStateSetEpoch": 1}).encode()


def master(controller: Controller) -> int | None:
    record = controller.sets.get("a")
    return None if record is None else record.master


def kept(controller: Controller) -> BrokerSet:
    record = controller.sets.get("a")
    assert record is not None
    return record


async def pair(call: Caller, *addresses: str, **more: Any) -> None:
    """Two brokers of one set, the first of which reigns; both in sync."""
    places = (*addresses, "127.0.0.1:1", "127.0.0.1:2")[:2] if addresses else ("127.0.0.1:1", "127.0.0.1:2")
    await call.join(1, address=places[0], **more)
    assert (await call.elect(1)).code == 0
    await call.join(2, address=places[1])
    assert (await call(1001, SET, brokerName="a", masterBrokerId=1, masterEpoch=1)).code == 0


@pytest.mark.parametrize("code", [904, 1001, 1002, 1003, 1004, 1005, 1006, 1009, 1010, 1011, 1012, 1013])
async def test_no_code_is_answered_as_unknown(call: Caller, code: int) -> None:
    answer = await call(code)
    assert answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED


@pytest.mark.parametrize("code", [10, 1007, 1008, 1014, 1018, 4711])
async def test_other_codes_are(call: Caller, code: int) -> None:
    assert (await call(code)).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


async def test_bodies_are_bounded_as_those_of_other_servers_are(controller: Controller, call: Caller) -> None:
    config = controller.settings.current
    for code, most in ((1001, config.max_body_size), (1009, config.max_config_body_size)):
        answer = await call(code, b" " * (most + 1))
        assert (answer.code, f"more than the {most}" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)


async def test_a_silent_master_is_replaced_and_the_others_are_told(
    controller: Controller, call: Caller, clock: FakeClock, listener: Listener
) -> None:
    await pair(call, "127.0.0.1:1", listener.address, heartbeatTimeoutMills=1500)
    clock.now += 1.6
    notice = await asyncio.wait_for(listener.notices.get(), 60)
    assert notice.ext_fields == {
        "masterAddress": listener.address, "masterBrokerId": "2", "masterEpoch": "2", "syncStateSetEpoch": "3",
    }  # fmt: skip
    assert notice.body == b'{"syncStateSet":[2],"syncStateSetEpoch":3}'
    assert notice.is_oneway
    assert (await call.state())["masterBrokerId"] == "2"
    assert controller.elections == {"new_master_elected": 2}


async def test_a_master_whose_connection_closes_is_replaced_at_once(
    controller: Controller, call: Caller, listener: Listener
) -> None:
    await pair(call, "127.0.0.1:1", listener.address)
    master = Caller(controller)
    await master.heartbeat(1, address="127.0.0.1:1")  # nobody listens there
    await master.client.close()
    notice = await asyncio.wait_for(listener.notices.get(), 60)
    assert (notice.ext_fields or {})["masterBrokerId"] == "2"


async def test_a_master_that_takes_another_connection_is_kept(
    controller: Controller, call: Caller, listener: Listener, clock: FakeClock
) -> None:
    await pair(call, listener.address)
    master = Caller(controller)
    await master.heartbeat(1, address=listener.address)
    await master.client.close()
    await until(lambda: not controller._tasks)
    assert (await call.state())["masterBrokerId"] == "1"
    assert controller.elections == {"new_master_elected": 1}


async def test_a_master_that_still_takes_a_connection_while_it_dies_is_replaced_at_once(
    controller: Controller, call: Caller, listener: Listener
) -> None:
    """The system closes the sockets of a killed process in no particular order."""

    killed = asyncio.Event()

    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if killed.is_set():
            dying.close()
        else:
            await reader.read()  # to its end, when the controller stops
        writer.close()

    dying = await asyncio.start_server(die, "127.0.0.1", 0)
    address = f"127.0.0.1:{dying.sockets[0].getsockname()[1]}"
    await pair(call, address, listener.address)
    master = Caller(controller)
    await master.heartbeat(1, address=address)
    killed.set()
    await master.client.close()
    notice = await asyncio.wait_for(listener.notices.get(), 60)
    assert (notice.ext_fields or {})["masterBrokerId"] == "2"


async def test_who_was_lost_with_the_master_is_not_elected(
    controller: Controller, call: Caller, clock: FakeClock, listener: Listener
) -> None:
    """It would be alone in the set, so that the third could not go on though it has all that was promised."""
    await pair(call, "127.0.0.1:1", "127.0.0.1:2", heartbeatTimeoutMills=1500)
    await call.join(3, address=listener.address)
    everyone = json.dumps({"syncStateSet": [1, 2, 3], "syncStateSetEpoch": 2}).encode()
    assert (await call(1001, everyone, brokerName="a", masterBrokerId=1, masterEpoch=1)).code == 0
    clock.now += 1.6  # the second is not missed yet, and nobody listens there
    notice = await asyncio.wait_for(listener.notices.get(), 60)
    assert (notice.ext_fields or {})["masterBrokerId"] == "3"


async def test_a_lease_is_granted_to_the_master_alone(controller: Controller, call: Caller, clock: FakeClock) -> None:
    await pair(call, heartbeatTimeoutMills=1000)
    assert (await call(1004, brokerName="a", brokerId=2, leaseMillis=2000)).ext_fields == await call.state()
    granted = (await call(1004, brokerName="a", brokerId=1, leaseMillis=2000)).ext_fields or {}
    assert granted["leaseMillis"] == "2000"
    clock.now += 1.5
    controller._expire()
    assert (await call.state())["masterEpoch"] == "1"
    clock.now += 0.6
    controller._expire()
    await until(lambda: master(controller) == 2)


async def test_a_replica_that_lost_its_tail_gives_way(call: Caller, controller: Controller) -> None:
    await pair(call)
    who: dict[str, Any] = {"clusterName": "c", "brokerName": "a", "brokerId": 1, "brokerAddress": "127.0.0.1:1"}
    assert (await call(1003, **who, uncleanBoot=True)).code == 0
    await until(lambda: master(controller) == 2)


@pytest.mark.parametrize("broker_id", [1, 2])
async def test_a_replica_that_comes_back_with_less_than_it_confirmed_leaves_the_set(
    call: Caller, controller: Controller, broker_id: int
) -> None:
    """Java's broker says so in its heartbeats alone."""
    await pair(call)
    for each in (1, 2):
        await call.heartbeat(each, address=f"127.0.0.1:{each}", epoch=1, maxOffset=900, confirmOffset=800)
    await call.heartbeat(broker_id, address=f"127.0.0.1:{broker_id}", epoch=1, maxOffset=799, confirmOffset=700)
    await until(lambda: kept(controller).in_sync == {3 - broker_id} == {kept(controller).master})
    set_epoch = kept(controller).in_sync_epoch
    await call.heartbeat(broker_id, address=f"127.0.0.1:{broker_id}", epoch=1, maxOffset=799, confirmOffset=700)
    await until(lambda: not controller._tasks)
    assert kept(controller).in_sync_epoch == set_epoch  # once


async def test_one_that_says_where_its_log_ends_is_not_told_that_it_reigns(
    call: Caller, controller: Controller, clock: FakeClock
) -> None:
    """It would begin to reign before its first heartbeat is heard, and the others would cut their logs to its own."""
    await pair(call)
    await call.heartbeat(1, epoch=1, maxOffset=900, confirmOffset=800, heartbeatTimeoutMills=1500)
    clock.now += 9  # the other is silent, and not missed yet
    who: dict[str, Any] = {"clusterName": "c", "brokerName": "a", "brokerId": 1, "brokerAddress": "127.0.0.1:1"}
    told = await call(1003, **who, epoch=1, maxOffset=799)
    assert (told.code, "masterBrokerId" in (told.ext_fields or {})) == (0, False)
    assert kept(controller).in_sync == {2}


async def test_a_copy_at_another_address_speaks_for_nobody(call: Caller, controller: Controller) -> None:
    await pair(call)
    await call.heartbeat(2, address="127.0.0.1:2", epoch=1, maxOffset=900, confirmOffset=800)
    await call.heartbeat(2, address="127.0.0.1:9", epoch=1, maxOffset=10, confirmOffset=0)
    await until(lambda: not controller._tasks)
    assert kept(controller).in_sync == {1, 2}


async def test_where_the_master_takes_replicas(call: Caller) -> None:
    await pair(call)
    who: dict[str, Any] = {"clusterName": "c", "brokerName": "a"}
    await call(1003, **who, brokerId=1, brokerAddress="127.0.0.1:1", brokerHaAddress="127.0.0.1:5")
    assert (await call.state())["masterHaAddress"] == "127.0.0.1:5"
    told = (await call(1003, **who, brokerId=2, brokerAddress="127.0.0.1:2")).ext_fields or {}
    assert told["masterHaAddress"] == "127.0.0.1:5"


async def test_everything_outlives_a_restart(config: ControllerConfig, tmp_path: Path) -> None:
    states = []
    for turn in range(2):
        controller = Controller(config, FileEngine(tmp_path / "kept.json"))
        await controller.start()
        caller = Caller(controller)
        if turn == 0:
            await pair(caller)
        states.append((await caller.state(), (await caller(1012, clusterName="c", brokerName="a")).ext_fields))
        await caller.client.close()
        await controller.stop()
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (1013, {"clusterName": "c", "brokerName": "a"}),
        (1013, {"clusterName": "c", "brokerName": "a", "appliedBrokerId": 1}),
        (1013, {"clusterName": "c", "brokerName": "a\n", "appliedBrokerId": 1, "registerCheckCode": "h:1;1"}),
        (1013, {"clusterName": "c", "brokerName": "a" * 256, "appliedBrokerId": 1, "registerCheckCode": "h:1;1"}),
        (1013, {"clusterName": "c", "brokerName": "", "appliedBrokerId": 1, "registerCheckCode": "h:1;1"}),
        (1013, {"clusterName": "c", "brokerName": "a", "appliedBrokerId": 1, "registerCheckCode": "nowhere"}),
        (1003, {"clusterName": "c", "brokerName": "a", "brokerId": 1}),
        (1003, {"clusterName": "c", "brokerName": "a", "brokerId": 1, "brokerAddress": "x"}),
        (1001, {"brokerName": "a", "masterBrokerId": 1}),
        (1002, {"brokerName": "a"}),
        (1004, {}),
        (904, {"clusterName": "c", "brokerName": "a", "brokerId": 1, "brokerAddr": "h:99999"}),
    ],
)
async def test_a_request_that_cannot_be_read(call: Caller, code: int, fields: dict[str, Any]) -> None:
    assert (await call(code, **fields)).code == ResponseCode.SYSTEM_ERROR


async def test_administrators_questions(call: Caller) -> None:
    await pair(call)
    assert (await call(1006)).remark == "not set any response code"
    assert (await call(1006, b"{}")).code == ResponseCode.SYSTEM_ERROR
    shown = json.loads((await call(1006, b'["a","nobody"]')).body)["replicasInfoTable"]
    assert list(shown) == ["a"]
    assert [each["alive"] for each in shown["a"]["inSyncReplicas"]] == [True, True]
    no_id = await call(904, clusterName="c", brokerName="a", brokerAddr="h:1")
    assert (no_id.code, no_id.remark) == (2005, "Heart beat with empty brokerId")


async def test_settings_are_shown_and_changed(call: Caller, controller: Controller) -> None:
    assert (await call(1009, b"enableElectUncleanMaster=true")).code == 0
    shown = parse_properties((await call(1010)).body.decode())
    assert shown["enableElectUncleanMaster"] == "true"
    assert (await call(1009, b"controllerStorePath=/etc")).code == ResponseCode.NO_PERMISSION
    assert (await call(1009, b"scanNotActiveBrokerInterval=soon")).code == ResponseCode.SYSTEM_ERROR


async def test_the_audit_tells_what_was_and_what_is(call: Caller, caplog: pytest.LogCaptureFixture) -> None:
    await pair(call)
    with caplog.at_level("INFO", "sprocketmq.audit"):
        assert (await call(1009, b"enableElectUncleanMaster=true")).code == 0
        await call(1011, clusterName="c", brokerName="a", brokerControllerIdsToClean="2", isCleanLivingBroker=True)
    told = {each.getMessage(): each.__dict__["fields"] for each in caplog.records if each.name == "sprocketmq.audit"}
    settings, cleaned = told["update controller config"], told["clean broker data"]
    assert (settings["old"], settings["new"]) == ("enableElectUncleanMaster=false", "enableElectUncleanMaster=true")
    assert '"brokerId":2' in cleaned["old"]
    assert '"brokerId":2' not in cleaned["new"]


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (RequestCode.UPDATE_CONTROLLER_CONFIG, {}),
        (RequestCode.CLEAN_BROKER_DATA, {"brokerName": "a"}),
        (
            RequestCode.CONTROLLER_ELECT_MASTER,
            {"clusterName": "c", "brokerName": "a", "brokerId": 2, "designateElect": True},
        ),
    ],
)
async def test_strangers_change_nothing(
    call: Caller, controller: Controller, code: int, fields: dict[str, Any]
) -> None:
    await pair(call)
    for connection in controller._server.connections:
        connection.peer = Peer("203.0.113.9", 1, b"", False)
    answer = await call(code, b"enableElectUncleanMaster=true", **fields)
    assert answer.code == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize("code", [RequestCode.CLEAN_BROKER_DATA, RequestCode.CONTROLLER_ELECT_MASTER])
async def test_a_set_is_changed_by_the_name_of_its_own_cluster(call: Caller, controller: Controller, code: int) -> None:
    """Who may change another cluster would name that one."""
    await pair(call)
    before = controller.sets.get("a")
    answer = await call(
        code, clusterName="other", brokerName="a", brokerId=2, designateElect=True, isCleanLivingBroker=True
    )
    assert (answer.code, answer.remark) == (
        ResponseCode.CONTROLLER_INVALID_REQUEST, "Broker-set: a is of cluster c, not 'other'",
    )  # fmt: skip
    assert controller.sets.get("a") == before


THIS = Member("this", "one")


class FakeEngine:
    """Leads when the test says so, and fails when it does."""

    def __init__(self) -> None:
        self.leaders: asyncio.Queue[Member | None] = asyncio.Queue()
        self.records: dict[str, BrokerSet] = {}
        self.faults: list[Exception] = []

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def lead(self, own: Member) -> AsyncIterator[Member | None]:
        while True:
            leader = await self.leaders.get()
            yield own if leader is THIS else leader

    async def load(self) -> dict[str, BrokerSet]:
        return dict(self.records)

    async def swap(self, expected: BrokerSet | None, new: BrokerSet | None) -> None:
        if self.faults:
            raise self.faults.pop(0)
        assert new is not None
        assert self.records.get(new.name) == expected
        self.records[new.name] = new


async def test_who_does_not_lead_says_who_does(config: ControllerConfig) -> None:
    engine = FakeEngine()
    engine.leaders.put_nowait(Member("n7", "10.0.0.7:9878"))
    controller = Controller(config, engine)
    await controller.start()
    caller = Caller(controller)
    assert (await caller(1005)).ext_fields == {
        "group": "sprocket", "controllerLeaderId": "n7", "controllerLeaderAddress": "10.0.0.7:9878",
        "isLeader": "false", "peers": f"n0:127.0.0.1:{controller.port};",
    }  # fmt: skip
    for code in (1001, 1002, 1003, 1004, 1006, 1011, 1012, 1013):
        answer = await caller(code)
        assert (answer.code, answer.remark) == (2007, "The controller is not in leader state")
    assert (await caller.heartbeat(1)).code == 0
    assert (await caller(1010)).code == 0
    engine.leaders.put_nowait(THIS)
    await until(lambda: controller.is_leader)
    assert (await caller(1004, brokerName="a")).code == 2008
    await caller.client.close()
    await controller.stop()


async def test_an_engine_that_fails(config: ControllerConfig) -> None:
    engine = FakeEngine()
    controller = Controller(config, engine)
    engine.leaders.put_nowait(THIS)
    await controller.start()
    caller = Caller(controller)
    engine.faults = [EngineFailed("no answer")]
    await caller.join(1)  # tried again
    engine.faults = [EngineFailed("no answer")] * 3
    answer = await caller.elect(1)
    assert (answer.code, answer.remark) == (1, "the state could not be kept: no answer")
    assert (await caller.elect(1)).code == 0
    engine.faults = [NotLeading("deposed")]
    assert (await caller.elect(1, designate=True)).code == 2011  # needs no change
    assert (
        await caller(1013, clusterName="c", brokerName="b", appliedBrokerId=1, registerCheckCode="h:1;1")
    ).code == 2007
    assert not controller.is_leader
    await caller.client.close()
    await controller.stop()


async def test_a_new_leader_replaces_whom_it_saw_go(config: ControllerConfig, listener: Listener) -> None:
    """While another led, or nobody did."""
    engine = FakeEngine()
    controller = Controller(config, engine)
    engine.leaders.put_nowait(THIS)
    await controller.start()
    caller, master = Caller(controller), Caller(controller)
    await pair(caller, "127.0.0.1:1", listener.address)
    engine.leaders.put_nowait(None)
    await until(lambda: not controller.is_leader)
    await master.heartbeat(1, address="127.0.0.1:1")
    await master.client.close()
    await until(lambda: len(controller.liveness) == 1)
    assert listener.notices.qsize() == 0
    engine.leaders.put_nowait(THIS)
    assert ((await asyncio.wait_for(listener.notices.get(), 60)).ext_fields or {})["masterBrokerId"] == "2"
    await caller.client.close()
    await controller.stop()


@pytest.mark.parametrize("is_there", [False, True])
async def test_a_restarted_controller_replaces_a_master_whose_process_is_gone(
    config: ControllerConfig, tmp_path: Path, listener: Listener, is_there: bool
) -> None:
    """One that is there and not heard yet may have a lease: it is given time."""
    config = replace(config, scan_inactive_master_interval=600_000)
    async with await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}" if is_there else "127.0.0.1:1"
        controller = Controller(config, FileEngine(tmp_path / "kept.json"))
        await controller.start()
        caller = Caller(controller)
        await pair(caller, address, listener.address)
        await caller.client.close()
        await controller.stop()
        again = Controller(config, FileEngine(tmp_path / "kept.json"))
        await again.start()
        caller = Caller(again)
        await caller.heartbeat(2, address=listener.address)
        if is_there:
            await until(lambda: len(again.liveness) == 1 and not again._tasks)
            assert again.elections == {}
        else:
            notice = await asyncio.wait_for(listener.notices.get(), 60)
            assert (notice.ext_fields or {})["masterBrokerId"] == "2"
        await caller.client.close()
        await again.stop()


async def test_figures(controller: Controller, call: Caller) -> None:
    await pair(call)
    page = figures(controller)
    node = 'node_type="controller",node_id="n0"'
    labels = f'{node},cluster="c",broker_set="a"'
    assert f"rocketmq_controller_role{{{node}}} 3\n" in page
    assert f'rocketmq_controller_election_total{{{node},election_result="new_master_elected"}} 1\n' in page
    registered = f'{node},request_type="CONTROLLER_REGISTER_BROKER"'
    assert f'rocketmq_controller_request_total{{{registered},request_handle_status="success"}} 2\n' in page
    assert f"rocketmq_controller_request_latency_count{{{registered}}} 2\n" in page
    assert f"sprocketmq_controller_in_sync_replicas{{{labels}}} 2\n" in page
    assert f"sprocketmq_controller_has_master{{{labels}}} 1\n" in page
    assert controller.unready() == []


@pytest.mark.parametrize("round_", ["_expire", "_look_at_all"])
async def test_a_round_that_fails_is_not_the_last(
    controller: Controller, round_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(work: Coroutine[Any, Any, None] | None = None) -> None:
        if work is not None:
            work.close()
        raise KeyError("nobody expects it")

    with monkeypatch.context() as patch:
        patch.setattr(controller.liveness, "expire", fail)
        patch.setattr(controller.sets, "failures", 1)
        patch.setattr(controller, "_start", fail)
        with pytest.raises(KeyError):
            getattr(controller, round_)()
    timer = controller._expiry if round_ == "_expire" else controller._look
    assert timer is not None
    assert not timer.cancelled()
    assert timer.when() > asyncio.get_running_loop().time()
