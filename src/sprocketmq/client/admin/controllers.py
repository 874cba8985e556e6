"""Controllers: who leads them, and which replicas they hold to be in step with their masters."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from sprocketmq.client.admin.core import AdminCore
from sprocketmq.client.cluster.requests import header_of
from sprocketmq.codes import RequestCode
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.controller import BrokerReplicasInfo
from sprocketmq.protocol.headers.controller import (
    CleanControllerBrokerDataRequestHeader,
    ElectMasterRequestHeader,
    ElectMasterResponseHeader,
    GetMetaDataResponseHeader,
)


class Controllers:
    def __init__(self, core: AdminCore) -> None:
        self._core = core

    async def metadata(self, address: str) -> GetMetaDataResponseHeader:
        """Whom a controller holds to be the leader, and its peers."""
        answer = await self._core.call(address, RequestCode.CONTROLLER_GET_METADATA_INFO)
        return header_of(GetMetaDataResponseHeader, answer)

    async def replicas(self, leader: str, brokers: Iterable[str]) -> BrokerReplicasInfo:
        """The masters of these brokers, and who is in step with each. Only the leader answers."""
        answer = await self._core.call(
            leader, RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, body=orjson.dumps(sorted(brokers))
        )
        return codec.decode(BrokerReplicasInfo, answer.body)

    async def leader(self, addresses: Iterable[str]) -> str:
        """Which controller leads, by the first of `addresses` that knows."""
        failure: Exception = OfflineControllers("no controller is named")
        for address in addresses:
            try:
                if leader := (await self.metadata(address)).controller_leader_address:
                    return leader
                failure = OfflineControllers(f"{address} knows of no controller that leads")
            except SprocketError as error:
                failure = error
        raise failure

    async def elect(self, leader: str, cluster: str, broker: str, broker_id: int) -> ElectMasterResponseHeader:
        """Make a living member of the in-sync set the master."""
        header = ElectMasterRequestHeader(
            cluster_name=cluster, broker_name=broker, broker_id=broker_id, designate_elect=True
        )
        answer = await self._core.call(leader, RequestCode.CONTROLLER_ELECT_MASTER, header)
        return header_of(ElectMasterResponseHeader, answer)

    async def remove(self, leader: str, cluster: str, broker: str, broker_id: int) -> None:
        """Forget a replica that will not come back; one that lives is refused."""
        header = CleanControllerBrokerDataRequestHeader(
            cluster_name=cluster, broker_name=broker, broker_controller_ids_to_clean=str(broker_id)
        )
        await self._core.call(leader, RequestCode.CLEAN_BROKER_DATA, header)


class OfflineControllers(SprocketError):
    """No controller leads, or none was named."""
