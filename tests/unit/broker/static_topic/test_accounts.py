"""A static topic over two brokers with accounts: the first judges the user, and signs what it asks of the second."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.unit.broker.replication.support import until
from tests.unit.broker.static_topic.support import A, B, detail, item, put
from tests.unit.broker.support import Caller, FakeClock, bodies, make_broker

from sprocketmq.auth.authentication.inner_signer import InnerSigner
from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, parse_resource
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import ResponseCode
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature

ACCOUNTS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "innerClientAuthenticationCredentials": '{"accessKey":"inner","secretKey":"inner-secret"}',
}
OLD, NEW = item(0, A, 0), item(1, B, 500, queue_id=1)


def give(broker: Broker, name: str, *resources: str) -> None:
    broker.access.accounts.create_user(name, f"{name}-secret")
    entries = []
    for text in resources:
        resource = parse_resource(text)
        assert resource is not None
        entries.append(PolicyEntry(resource, (Action.PUB, Action.SUB), Decision.ALLOW))
    broker.access.accounts.put_acl(name, {PolicyType.CUSTOM: entries})


def caller(broker: Broker, name: str) -> Caller:
    made = Caller(broker)

    def sign(_address: str, command: Command) -> None:
        secret = f"{name}-secret"
        command.ext_fields = with_signature(command.ext_fields or {}, command.body, access_key=name, secret_key=secret)

    made.client.hooks.append(sign)
    return made


class Cluster:
    def __init__(self, tmp_path: Path, clock: FakeClock) -> None:
        self._folder, self._clock = tmp_path, clock
        self._running = AsyncExitStack()
        self._nameserver = Nameserver(
            NameserverConfig(listen_port=0, bind_address="127.0.0.1", kv_config_path=self._folder / "kv.json")
        )

    async def __aenter__(self) -> Cluster:
        await self._nameserver.start()
        self._running.push_async_callback(self._nameserver.stop)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()

    async def broker(self, name: str, **conf: Any) -> Broker:
        """It is registered, as it need not be after a start that took long."""
        entries = {"brokerName": name, "namesrvAddr": self._nameserver.address, **conf}
        made = make_broker(self._folder / name, self._clock, **entries)
        await made.start()
        self._running.push_async_callback(made.stop)
        await until(lambda: self._nameserver.routes.group(name) is not None)
        return made

    def user(self, broker: Broker, name: str) -> Caller:
        made = caller(broker, name)
        self._running.push_async_callback(made.client.close, 0.2)
        return made


@pytest_asyncio.fixture
async def cluster(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Cluster]:
    async with Cluster(tmp_path, clock) as made:
        yield made


async def moved(cluster: Cluster, first: Broker, second: Broker) -> None:
    """Two messages lie with broker-a, and the queue has moved to broker-b."""
    a, b = cluster.user(first, "inner"), cluster.user(second, "inner")
    await put(a, detail(A, {0: (OLD,)}))
    for number in range(2):
        assert (await a.send("S", b"%d" % number)).code == 0
    await put(a, detail(A, {0: (OLD, NEW)}, 2))
    await put(b, detail(B, {0: (OLD, NEW)}, 2))


async def test_a_user_reads_what_another_broker_holds(cluster: Cluster) -> None:
    """Who it is and what it may is known to the broker that it asks, and to no other."""
    first, second = await cluster.broker(A, **ACCOUNTS), await cluster.broker(B, **ACCOUNTS)
    give(second, "reader", "Topic:S", "Group:G")
    give(second, "other", "Topic:Else", "Group:G")
    await moved(cluster, first, second)
    assert bodies(await cluster.user(second, "reader").pull("S", 0)) == [b"0", b"1"]
    refused = await cluster.user(second, "other").pull("S", 0)
    assert refused.code == ResponseCode.NO_PERMISSION
    assert "Topic:S" in (refused.remark or "")


async def test_a_broker_does_not_sign_towards_an_address_that_is_no_broker_s(cluster: Cluster) -> None:
    """What a nameserver tells may be a stranger's: here loopback counts as nothing, and no network is listed."""
    first = await cluster.broker(A, **ACCOUNTS)
    second = await cluster.broker(B, **ACCOUNTS, adminAllowLocal="false")
    give(second, "reader", "Topic:S", "Group:G")
    await moved(cluster, first, second)
    answer = await cluster.user(second, "reader").pull("S", 0)
    assert answer.code == ResponseCode.NO_PERMISSION


async def test_a_broker_without_accounts_vouches_for_nobody(cluster: Cluster) -> None:
    first = await cluster.broker(A, **ACCOUNTS)
    inner = ACCOUNTS["innerClientAuthenticationCredentials"]
    second = await cluster.broker(B, innerClientAuthenticationCredentials=inner)
    await moved(cluster, first, second)
    answer = await cluster.user(second, "nobody").pull("S", 0)
    assert answer.code == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize("code", [10, 215])
async def test_what_a_broker_has_signed_is_no_other_request(cluster: Cluster, code: int) -> None:
    broker = await cluster.broker(A, **ACCOUNTS)
    signer = InnerSigner(broker.settings.current.inner_user(), [broker.address])
    signed = Command(31, ext_fields={"topic": "S", "queueId": "0"})
    signer.sign(broker.address, signed)
    bare = Caller(broker)
    answer = await bare.call(code, signed.ext_fields or {})
    assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, "the request was signed as another one")
    await bare.client.close(0.2)
