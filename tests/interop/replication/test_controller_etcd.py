"""Controllers on a real etcd of three members."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.certificates import Certificates
from tests.certificates import certificates as certificates
from tests.peers.etcd import EtcdCluster, require_etcd
from tests.peers.etcd import etcd as etcd
from tests.peers.process import free_port
from tests.unit.controller.conftest import Caller
from tests.unit.controller.support import three

from sprocketmq.controller.config import ControllerConfig, EngineKind
from sprocketmq.controller.engines import EngineFailed, Member, NotLeading
from sprocketmq.controller.engines.etcd import EtcdEngine
from sprocketmq.controller.engines.gateway import Gateway
from sprocketmq.controller.server import Controller
from sprocketmq.controller.wiring import make_controller, make_engine
from sprocketmq.errors import RemotingError

pytestmark = pytest.mark.interop

A, B = Member("n0", "127.0.0.1:1"), Member("n1", "127.0.0.1:2")


#: As long as no stall of the machine lasts, and so short that a test can wait for its end.
LEASE_S = 10


def engine(etcd: EtcdCluster) -> EtcdEngine:
    return EtcdEngine(Gateway(etcd.endpoints, timeout=5), "/test", LEASE_S)


async def answered(call: Callable[[], Awaitable[object]]) -> None:
    """Until etcd, which has just been started or disturbed, answers."""
    async with asyncio.timeout(60):
        while True:
            try:
                await call()
                return
            except EngineFailed:
                await asyncio.sleep(0.1)


async def test_one_leads_and_the_other_follows_it(etcd: EtcdCluster) -> None:
    first, second = engine(etcd), engine(etcd)
    await answered(first.load)
    reign, contest = first.lead(A), second.lead(B)
    assert await anext(reign) == A
    assert await anext(contest) == A
    await first.swap(None, three())
    with pytest.raises(NotLeading):
        await second.swap(None, three())
    await second.load()
    with pytest.raises(NotLeading):
        await second.swap(three(), three().with_master(2))
    following = asyncio.ensure_future(anext(contest))
    await reign.aclose()  # type: ignore[attr-defined]
    async with asyncio.timeout(60):
        assert await following == B
    assert await second.load() == {"ha-a": three()}
    await second.swap(three(), three().with_master(2))
    with pytest.raises(NotLeading):  # it was deposed, whatever it thinks
        await first.swap(three(), None)
    await second.swap(three().with_master(2), None)
    assert await second.load() == {}
    await contest.aclose()  # type: ignore[attr-defined]


async def test_a_record_that_somebody_else_changed(etcd: EtcdCluster) -> None:
    one = engine(etcd)
    await answered(one.load)
    reign = one.lead(A)
    await anext(reign)
    await one.swap(None, three())
    with pytest.raises(EngineFailed, match="another one"):
        await one.swap(None, three())
    one._records["ha-a"] = three(), 1  # what an older read would have given
    with pytest.raises(EngineFailed, match="another one"):
        await one.swap(three(), None)
    await reign.aclose()  # type: ignore[attr-defined]


async def test_a_minority_costs_nothing_and_a_majority_everything_but_what_is_kept(etcd: EtcdCluster) -> None:
    one = engine(etcd)
    await answered(one.load)
    reign = one.lead(A)
    await anext(reign)
    await one.swap(None, three())
    etcd.kill(0)
    await answered(one.load)
    etcd.kill(1)
    lost = asyncio.ensure_future(anext(reign))
    async with asyncio.timeout(60):
        assert await lost is None  # its lease could not be renewed
    with pytest.raises(EngineFailed):
        await one.load()
    etcd.start(0, 1)
    await answered(one.load)
    assert await one.load() == {"ha-a": three()}
    await reign.aclose()  # type: ignore[attr-defined]


async def test_with_tls_and_a_password(tmp_path: Path, certificates: Certificates) -> None:
    require_etcd()
    etcd = EtcdCluster(tmp_path, 1, certificates.server)
    etcd.start()
    try:
        root = Gateway(etcd.endpoints, ssl=certificates.caller())
        await answered(lambda: root.call("/v3/kv/range", {"key": "YQ=="}))
        await root.call("/v3/auth/user/add", {"name": "root", "password": "open sesame"})
        await root.call("/v3/auth/role/add", {"name": "root"})
        await root.call("/v3/auth/user/grant", {"user": "root", "role": "root"})
        await root.call("/v3/auth/enable", {})
        (tmp_path / "password").write_text("open sesame\n")
        config = ControllerConfig(
            peers="n0-127.0.0.1:1", engine=EngineKind.etcd, etcd_endpoints=etcd.endpoints[0], etcd_user="root",
            etcd_password_file=str(tmp_path / "password"), etcd_ca_file=str(certificates.ca),
        )  # fmt: skip
        one = make_engine(config)
        reign = one.lead(A)
        assert await anext(reign) == A
        await one.swap(None, three())
        assert await one.load() == {"ha-a": three()}
        await reign.aclose()  # type: ignore[attr-defined]
        with pytest.raises(EngineFailed, match="user name is empty"):
            await root.call("/v3/kv/range", {"key": "YQ=="})
        with pytest.raises(EngineFailed, match="CERTIFICATE_VERIFY_FAILED"):
            await make_engine(replace(config, etcd_ca_file=str(certificates.stranger_ca))).load()
    finally:
        etcd.kill()


async def leader_of(controllers: list[Controller]) -> Controller:
    async with asyncio.timeout(60):
        while True:
            leading = [each for each in controllers if each.is_leader]
            if len(leading) == 1:
                return leading[0]
            await asyncio.sleep(0.05)


async def test_a_controller_takes_over_with_everything(etcd: EtcdCluster, tmp_path: Path) -> None:
    await answered(engine(etcd).load)
    ports = free_port(), free_port()
    peers = ";".join(f"n{at}-127.0.0.1:{port}" for at, port in enumerate(ports))
    controllers = [
        make_controller(
            ControllerConfig(
                bind_address="127.0.0.1",
                peers=peers,
                self_id=f"n{at}",
                engine=EngineKind.etcd,
                etcd_lease_seconds=LEASE_S,
                etcd_endpoints=";".join(etcd.endpoints),
                config_store_path=tmp_path / f"{at}.properties",
                metrics_prom_exporter_port=0,
            )
        )
        for at in range(2)
    ]
    for each in controllers:
        await each.start()
    leader = await leader_of(controllers)
    (follower,) = [each for each in controllers if each is not leader]
    callers = {each: Caller(each) for each in controllers}
    told = (await callers[follower](1005)).ext_fields or {}
    assert (told["isLeader"], told["controllerLeaderId"]) == ("false", leader.member.member_id)
    for caller in callers.values():
        await caller.heartbeat(1)
    await callers[leader].join(1)
    assert (await callers[leader].elect(1)).code == 0
    assert (await callers[follower].elect(1)).code == 2007
    await leader.stop()
    assert await leader_of([follower]) is follower
    state = await callers[follower].state()
    assert (state["masterBrokerId"], state["masterEpoch"]) == ("1", "1")
    with pytest.raises(RemotingError):
        await callers[leader].state()
    for caller in callers.values():
        await caller.client.close()
    await follower.stop()
