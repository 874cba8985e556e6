"""What the parts of the admin client share: which brokers there are, and requests to all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.requests import check
from sprocketmq.client.cluster.route import MASTER, Route
from sprocketmq.client.errors import ClientError, NoBroker, NoRoute
from sprocketmq.codes import RequestCode
from sprocketmq.errors import ConfigError, SprocketError
from sprocketmq.protocol import bodies
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.names import with_namespace, without_namespace

B = TypeVar("B")
T = TypeVar("T")

TIMEOUT_S = 5.0


class AdminCore:
    def __init__(self, instance: ClientInstance) -> None:
        self.instance = instance

    def name(self, name: str) -> str:
        """The full name of a topic or group."""
        return with_namespace(self.instance.options.namespace, name)

    def inside(self, names: Iterable[str]) -> list[str]:
        """Those of the client's namespace, without it, sorted; all of them when it has none."""
        namespace = self.instance.options.namespace
        return sorted(without_namespace(namespace, name) for name in names if with_namespace(namespace, name) == name)

    # -- requests ---------------------------------------------------------------------------------------------------

    async def nameserver(self, code: int, header: object | None = None, *, body: bytes = b"") -> Command:
        answer = await self.instance.nameservers.call(code, header, timeout=TIMEOUT_S, body=body)
        return check(answer)

    async def call(self, address: str, code: int, header: object | None = None, *, body: bytes = b"") -> Command:
        return await self.instance.call(address, code, header, body=body, timeout=TIMEOUT_S)

    async def fetch(self, cls: type[B], address: str, code: int, header: object | None = None) -> B:
        return codec.decode(cls, (await self.call(address, code, header)).body)

    async def each(self, addresses: Mapping[str, str], ask: Callable[[str], Awaitable[T]]) -> dict[str, T]:
        """`ask` of every broker at once, by broker name. One that fails fails the whole: half a truth misleads."""
        results = await asyncio.gather(*(ask(address) for address in addresses.values()))
        return dict(zip(addresses, results, strict=True))

    async def each_that_knows(self, addresses: Mapping[str, str], ask: Callable[[str], Awaitable[T]]) -> dict[str, T]:
        """As `each`, for what only some brokers know: those that refuse are left out, unless all do."""
        results = await asyncio.gather(*(ask(address) for address in addresses.values()), return_exceptions=True)
        answers: dict[str, T] = {}
        errors: list[BaseException] = []
        for name, result in zip(addresses, results, strict=True):
            if isinstance(result, BaseException):
                errors.append(result)
            else:
                answers[name] = result
        if errors and not answers:
            raise errors[0]
        return answers

    # -- brokers ----------------------------------------------------------------------------------------------------

    async def cluster(self) -> bodies.cluster.ClusterInfo:
        answer = await self.nameserver(RequestCode.GET_BROKER_CLUSTER_INFO)
        return codec.decode(bodies.cluster.ClusterInfo, answer.body)

    async def masters(self, cluster: str | None = None, broker: str | None = None) -> dict[str, str]:
        """Master addresses by broker name: of all brokers, of one cluster, or of one broker by its name or address."""
        found = {
            name: data.broker_addrs[MASTER]
            for name, data in sorted((await self.cluster()).broker_addr_table.items())
            if MASTER in data.broker_addrs and _wanted(data, cluster, broker)
        }
        if not found:
            wanted = f"broker {broker}" if broker else f"a master of cluster {cluster}" if cluster else "any broker"
            raise NoBroker(wanted)
        return found

    async def master(self, broker: str) -> str:
        """The address of a broker given by name, or the address itself."""
        return broker if ":" in broker else (await self.masters(broker=broker))[broker]

    async def route(self, topic: str, wait: float = 0.0) -> Route:
        return await self.instance.routes.fetch_by(self.name(topic), asyncio.get_running_loop().time() + wait)

    async def topic_masters(self, topic: str) -> dict[str, str]:
        route = await self.route(topic)
        return {name: address for name in sorted(route.addresses) if (address := route.master(name)) is not None}

    async def group_masters(self, group: str) -> dict[str, str]:
        """The brokers that know the group: those of its retry topic, or all when it has none."""
        try:
            return await self.topic_masters(f"%RETRY%{self.name(group)}")
        except ClientError as error:
            if not isinstance(error, NoRoute):
                raise
        return await self.masters()


def _wanted(data: bodies.route.BrokerData, cluster: str | None, broker: str | None) -> bool:
    named = broker is None or data.broker_name == broker or broker in data.broker_addrs.values()
    return named and (cluster is None or data.cluster == cluster)


async def if_known(answer: Awaitable[T]) -> T | None:
    """The answer, or None: not every broker knows every question, nor does an older one, nor one that is gone."""
    try:
        return await answer
    except SprocketError:
        return None


def one_target(cluster: str | None, broker: str | None) -> None:
    if cluster and broker:
        raise ConfigError("a cluster and a broker exclude one another")
