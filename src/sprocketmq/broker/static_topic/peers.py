"""Other brokers, by name: where they are is asked of the nameservers, when it is not known or no longer true.

Where there are accounts, the broker that a client asks has judged the client; what it asks of another is signed by
itself. Without accounts it signs nothing: it would vouch for whoever reaches it.
"""

from __future__ import annotations

from sprocketmq.auth.authentication.inner_signer import InnerSigner
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RemotingError, RequestRefused
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.cluster import ClusterInfo
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import RemotingClient

_MASTER_ID = 0


class BrokerPeers:
    def __init__(self, settings: Settings, client: RemotingClient, signer: InnerSigner) -> None:
        self._settings = settings
        self._client = client
        self._signer = signer
        self._addresses: dict[str, str] = {}

    async def call(self, broker_name: str, command: Command) -> Command:
        """What the broker of that name answers; refuses with SYSTEM_ERROR where it is not found or does not answer."""
        address = self._addresses.get(broker_name) or await self._find(broker_name)
        try:
            return await self._client.call(address, command, self._timeout)
        except RemotingError as error:
            self._addresses.pop(broker_name, None)
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"broker {broker_name}: {error}") from None

    @property
    def _timeout(self) -> float:
        return self._settings.current.forward_timeout / 1000

    async def _find(self, broker_name: str) -> str:
        for nameserver in self._settings.current.nameservers:
            try:
                reply = await self._client.call(nameserver, Command(RequestCode.GET_BROKER_CLUSTER_INFO), self._timeout)
            except RemotingError:
                continue
            self._learn(codec.decode(ClusterInfo, reply.body))
            if broker_name in self._addresses:
                return self._addresses[broker_name]
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no nameserver knows where broker {broker_name} is")

    def _learn(self, cluster: ClusterInfo) -> None:
        for name, data in cluster.broker_addr_table.items():
            if _MASTER_ID in data.broker_addrs:
                self._addresses[name] = data.broker_addrs[_MASTER_ID]
                if self._settings.current.has_accounts:
                    self._signer.learn(self._addresses[name], self._settings.current.broker_access())
