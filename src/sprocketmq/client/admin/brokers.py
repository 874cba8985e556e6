"""Brokers and the cluster they form."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sprocketmq.client.admin.core import AdminCore
from sprocketmq.client.cluster.route import MASTER
from sprocketmq.client.errors import ClientError, Refused
from sprocketmq.codes import RequestCode
from sprocketmq.protocol import bodies, headers, java_json
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.ha import EpochEntryCache, HARuntimeInfo
from sprocketmq.protocol.bodies.stats import ConsumeStats
from sprocketmq.protocol.names import is_system_group


def version_of(runtime: Mapping[str, str]) -> str | None:
    """The version of RocketMQ that a broker is like, and what it is when it is not Apache's."""
    version, kind = runtime.get("brokerVersionDesc"), runtime.get("brokerImplementation")
    return f"{version} ({kind})" if version and kind else version


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """One broker, master or slave. `runtime` is empty when it does not answer; `error` then says why.

    `refused` is true of one that answers, and not to us.
    """

    cluster: str
    name: str
    id: int
    address: str
    runtime: Mapping[str, str]
    error: str | None = None
    refused: bool = False

    @property
    def version(self) -> str:
        return version_of(self.runtime) or "?"

    @property
    def is_master(self) -> bool:
        return self.id == MASTER

    @property
    def log_end(self) -> int | None:
        """Where its log ends; None when it does not tell."""
        text = self.runtime.get("commitLogMaxOffset", "")
        return int(text) if text.isdecimal() else None

    def behind(self, master: BrokerStatus | None) -> int | None:
        """Bytes of the master's log that it has not; None when one of both does not tell."""
        if master is None or master.log_end is None or self.log_end is None:
            return None
        return max(master.log_end - self.log_end, 0)

    @property
    def rate_in(self) -> float:
        """Messages a second that it is sent."""
        return self.rate("putTps")

    @property
    def rate_out(self) -> float:
        """Messages a second that it hands out; RocketMQ 4 spells it with one r."""
        return self.rate("getTransferredTps") or self.rate("getTransferedTps")

    def rate(self, key: str) -> float:
        """The first of three averages, as in `putTps`; 0 while there are no samples."""
        parts = self.runtime.get(key, "").split()
        return float(parts[0]) if parts else 0.0


class Brokers:
    def __init__(self, core: AdminCore) -> None:
        self._core = core

    async def cluster(self) -> bodies.cluster.ClusterInfo:
        return await self._core.cluster()

    async def status(self) -> list[BrokerStatus]:
        """Every broker that a nameserver knows, with what it says of itself."""
        info = await self._core.cluster()
        asked = (
            self.status_at(address, data.cluster, name, broker_id)
            for name, data in sorted(info.broker_addr_table.items(), key=lambda item: (item[1].cluster, item[0]))
            for broker_id, address in sorted(data.broker_addrs.items())
        )
        return list(await asyncio.gather(*asked))

    async def runtime(self, broker: str) -> dict[str, str]:
        """What the broker says of itself: rates, offsets, disk, queues."""
        address = await self._core.master(broker)
        return dict(
            (await self._core.fetch(bodies.registration.KVTable, address, RequestCode.GET_BROKER_RUNTIME_INFO)).table
        )

    async def config(self, broker: str) -> dict[str, str]:
        address = await self._core.master(broker)
        text = (await self._core.call(address, RequestCode.GET_BROKER_CONFIG)).body.decode()
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
        return {key.strip(): value.strip() for key, _, value in pairs}

    async def set_config(self, broker: str, key: str, value: str) -> None:
        """Change one setting of a running broker; brokers refuse keys that are not safe to change."""
        address = await self._core.master(broker)
        await self._core.call(address, RequestCode.UPDATE_BROKER_CONFIG, body=f"{key}={value}\n".encode())

    async def producers(self, broker: str) -> bodies.connections.ProducerTableInfo:
        """Every producer that is connected."""
        return await self._core.fetch(
            bodies.connections.ProducerTableInfo,
            await self._core.master(broker),
            RequestCode.GET_ALL_PRODUCER_INFO,
            headers.client.GetAllProducerInfoRequestHeader(),
        )

    async def replication(self, broker: str) -> HARuntimeInfo:
        """How replication stands: the slaves of a master, or the master of a slave. Not known to RocketMQ 4."""
        address = await self._core.master(broker)
        return await self._core.fetch(HARuntimeInfo, address, RequestCode.GET_BROKER_HA_STATUS)

    async def epochs(self, broker: str) -> EpochEntryCache:
        """Under which masters its log was written; refused by a broker without a controller, unknown to RocketMQ 4."""
        address = await self._core.master(broker)
        return await self._core.fetch(EpochEntryCache, address, RequestCode.GET_BROKER_EPOCH_CACHE)

    async def behind(self, broker: str) -> int:
        """How many messages the groups that `groups.names` tells have not consumed, all together."""
        return sum((await self.lags(broker)).values())

    async def lags(self, broker: str) -> dict[str, int]:
        """The same for each of them; a group that has committed no offset is left out."""
        header = headers.group.GetConsumeStatsInBrokerHeader(is_order=False)
        address = await self._core.master(broker)
        answer = await self._core.call(address, RequestCode.GET_BROKER_CONSUME_STATS, header)
        told = java_json.loads(answer.body).get("consumeStatsList") or ()
        users = {group: stats for each in told for group, stats in each.items() if not is_system_group(group)}
        return {name: _diff(stats) for group, stats in users.items() for name in self._core.inside([group])}

    async def timers(self, broker: str) -> dict[str, int]:
        """How many messages of each topic wait for their time. Not known to RocketMQ 4."""
        answer = await self._core.call(await self._core.master(broker), RequestCode.GET_TIMER_METRICS)
        counts = java_json.loads(answer.body).get("timingCount") or {}
        return {topic: int(entry.get("count", 0)) for topic, entry in counts.items()}

    async def wipe_write_perm(self, broker_name: str) -> None:
        """No producer is routed to the broker any more: the way to retire it."""
        header = headers.nameserver.WipeWritePermOfBrokerRequestHeader(broker_name=broker_name)
        await self._core.instance.nameservers.call_all(RequestCode.WIPE_WRITE_PERM_OF_BROKER, header, timeout=5.0)

    async def add_write_perm(self, broker_name: str) -> None:
        header = headers.nameserver.AddWritePermOfBrokerRequestHeader(broker_name=broker_name)
        await self._core.instance.nameservers.call_all(RequestCode.ADD_WRITE_PERM_OF_BROKER, header, timeout=5.0)

    async def clean_expired_queues(self, broker: str) -> None:
        await self._core.call(await self._core.master(broker), RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)

    async def delete_expired_log(self, broker: str) -> None:
        await self._core.call(await self._core.master(broker), RequestCode.DELETE_EXPIRED_COMMITLOG)

    async def clean_unused_topics(self, broker: str) -> None:
        await self._core.call(await self._core.master(broker), RequestCode.CLEAN_UNUSED_TOPIC)

    async def greet(self, broker: str) -> None:
        """An empty heartbeat. Every account may send one: only a broker that does not know our keys refuses it."""
        empty = codec.encode(bodies.heartbeat.HeartbeatData(client_id=self._core.instance.client_id))
        await self._core.call(await self._core.master(broker), RequestCode.HEART_BEAT, body=empty)

    async def status_at(self, address: str, cluster: str, name: str, broker_id: int) -> BrokerStatus:
        """What the broker at `address` says of itself, whoever else knows it."""
        try:
            table = await self._core.fetch(bodies.registration.KVTable, address, RequestCode.GET_BROKER_RUNTIME_INFO)
        except ClientError as error:
            return BrokerStatus(cluster, name, broker_id, address, {}, str(error), isinstance(error, Refused))
        return BrokerStatus(cluster, name, broker_id, address, table.table)


def _diff(stats: list[Any]) -> int:
    """As the broker counts it into its sum."""
    rows = (row for each in stats for row in codec.from_tree(ConsumeStats, each).offset_table.values())
    return sum(row.broker_offset - row.consumer_offset for row in rows)
