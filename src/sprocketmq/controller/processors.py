"""The requests of brokers and administrators. All but the heartbeat and two or three questions are for the leader."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.controller import decisions, elections, rules
from sprocketmq.controller.decisions import Answer, ReplicaStanding, Rule
from sprocketmq.controller.liveness import LiveIdentity
from sprocketmq.controller.requests import decode, decode_names
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.controller import SyncStateSet
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.controller_fields import LeaseFields, ReplicaFields
from sprocketmq.protocol.fields import quoted
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.controller import (
    AlterSyncStateSetRequestHeader,
    ApplyBrokerIdRequestHeader,
    CleanControllerBrokerDataRequestHeader,
    ElectMasterRequestHeader,
    GetNextBrokerIdRequestHeader,
    GetNextBrokerIdResponseHeader,
    GetReplicaInfoRequestHeader,
    RegisterBrokerToControllerRequestHeader,
)
from sprocketmq.protocol.headers.nameserver import BrokerHeartbeatRequestHeader
from sprocketmq.remoting import Connection, Handler, ProcessorTable, Reply, SlowHandler

if TYPE_CHECKING:
    from sprocketmq.controller.server import Controller

events = Events("sprocketmq.controller.processors")

_NOT_LEADER = "The controller is not in leader state"


class Processors:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.BROKER_HEARTBEAT, self.heartbeat)
        table.add(RequestCode.CONTROLLER_GET_METADATA_INFO, self.metadata)
        table.add(RequestCode.CONTROLLER_GET_REPLICA_INFO, self._for_leader(self.replica_info))
        table.add(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, self._for_leader(self.next_broker_id))
        table.add(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, self._for_leader(self.sync_state_data))
        table.add_slow(RequestCode.CONTROLLER_APPLY_BROKER_ID, self._for_leader_slowly(self.apply_broker_id))
        table.add_slow(RequestCode.CONTROLLER_REGISTER_BROKER, self._for_leader_slowly(self.register))
        table.add_slow(RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET, self._for_leader_slowly(self.alter))
        table.add_slow(RequestCode.CONTROLLER_ELECT_MASTER, self._for_leader_slowly(self.elect))
        table.add_slow(RequestCode.CLEAN_BROKER_DATA, self._for_leader_slowly(self.clean))
        table.add(RequestCode.GET_CONTROLLER_CONFIG, self.get_config)
        table.add_slow(RequestCode.UPDATE_CONTROLLER_CONFIG, self.update_config)

    # -- every controller -----------------------------------------------------------------------------------------

    def heartbeat(self, connection: Connection, request: Command) -> Reply:
        header = decode(BrokerHeartbeatRequestHeader, request)
        if header.broker_id is None:
            raise RequestRefused(ResponseCode.CONTROLLER_INVALID_REQUEST, "Heart beat with empty brokerId")
        standing = ReplicaStanding(
            -1 if header.epoch is None else header.epoch,
            -1 if header.max_offset is None else header.max_offset,
            ReplicaStanding().priority if header.election_priority is None else header.election_priority,
        )
        identity = LiveIdentity(header.cluster_name, header.broker_name, header.broker_id, header.broker_addr)
        self._controller.heard(identity, header, standing, connection)
        return None if request.is_oneway else request.reply(remark="Heart beat success")

    def metadata(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(ext_fields=to_ext_fields(self._controller.metadata()))

    def get_config(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=self._controller.settings.text().encode())

    async def update_config(self, connection: Connection, request: Command) -> Reply:
        return await self._controller.settings.update_from(connection, request)

    # -- the leader: questions ------------------------------------------------------------------------------------

    def replica_info(self, _connection: Connection, request: Command) -> Answer:
        name = decode(GetReplicaInfoRequestHeader, request).broker_name or ""
        asked, record = decode(LeaseFields, request), self._controller.sets.get(name)
        if record is not None and asked.address is not None:  # one of ours
            fault = rules.holder_fault(record, asked.broker_id, asked.address)
            if fault is not None:
                return Answer(*fault, ext_fields={})
        return decisions.replica_info(record, self._controller.lease(name, asked))

    def next_broker_id(self, _connection: Connection, request: Command) -> Answer:
        header = decode(GetNextBrokerIdRequestHeader, request)
        following = rules.next_broker_id(self._controller.sets.get(header.broker_name or ""))
        answer = GetNextBrokerIdResponseHeader(
            cluster_name=header.cluster_name, broker_name=header.broker_name, next_broker_id=following
        )
        return Answer(ext_fields=to_ext_fields(answer))

    def sync_state_data(self, _connection: Connection, request: Command) -> Answer:
        sets = self._controller.sets
        found = [record for name in decode_names(request.body) if (record := sets.get(name)) is not None]
        return decisions.sync_state_data((record, sets.living(record)) for record in found)

    # -- the leader: changes --------------------------------------------------------------------------------------

    async def apply_broker_id(self, _connection: Connection, request: Command) -> Answer:
        header = decode(ApplyBrokerIdRequestHeader, request)
        return await self._change(header.broker_name, partial(rules.apply_broker_id, request=header))

    async def register(self, connection: Connection, request: Command) -> Answer:
        header, own = decode(RegisterBrokerToControllerRequestHeader, request), decode(ReplicaFields, request)
        identity = LiveIdentity(
            header.cluster_name or "", header.broker_name or "", header.broker_id or 0, header.broker_address or ""
        )
        if self._controller.liveness.has_lost(identity, own.epoch, own.max_offset):
            own = replace(own, unclean_boot=True)
        events.info(
            "broker registers", broker=header.broker_name, id=header.broker_id, address=header.broker_address,
            unclean_boot=own.unclean_boot, peer=connection.peer,
        )  # fmt: skip
        answer = await self._change(header.broker_name, partial(rules.register, request=header, own=own))
        if own.unclean_boot and answer.code == ResponseCode.SUCCESS:
            self._controller.distrusted(identity)
        return answer

    async def alter(self, connection: Connection, request: Command) -> Answer:
        header = decode(AlterSyncStateSetRequestHeader, request)
        wanted = codec.decode(SyncStateSet, request.body)
        if len(wanted.sync_state_set) > rules.MAX_REPLICAS:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"a set has at most {rules.MAX_REPLICAS} members")
        answer = await self._change(header.broker_name, partial(rules.alter, request=header, wanted=wanted))
        asked = ",".join(map(str, sorted(wanted.sync_state_set)))
        if answer.code == ResponseCode.SUCCESS:
            events.info("in-sync set changed", broker=header.broker_name, set=asked, peer=connection.peer)
        else:
            events.warning("in-sync set kept", broker=header.broker_name, asked=asked, reason=answer.remark)
        return answer

    async def elect(self, connection: Connection, request: Command) -> Answer:
        header = decode(ElectMasterRequestHeader, request)
        self._check_cluster(header.broker_name, header.cluster_name)
        config = self._controller.settings.current
        if header.designate_elect:  # what an administrator asks; a broker only asks for somebody
            if not config.has_accounts:
                config.access().check(connection, request)
            events.info("election by name", broker=header.broker_name, id=header.broker_id, peer=connection.peer)
        doubted = frozenset() if header.designate_elect else await self._controller.doubted(header.broker_name or "")
        unclean = config.enable_elect_unclean_master
        rule = partial(elections.elect, request=header, unclean=unclean, doubted=doubted)
        return await self._change(header.broker_name, rule)

    async def clean(self, connection: Connection, request: Command) -> Answer:
        header = decode(CleanControllerBrokerDataRequestHeader, request)
        self._check_cluster(header.broker_name, header.cluster_name)
        answer = await self._change(header.broker_name, partial(rules.clean, request=header))
        events.info(
            "broker data cleaned" if answer.code == ResponseCode.SUCCESS else "broker data kept",
            broker=header.broker_name, ids=header.broker_controller_ids_to_clean or "*", peer=connection.peer,
        )  # fmt: skip
        return answer

    def _check_cluster(self, name: str | None, cluster: str | None) -> None:
        """Who may change a cluster is judged by the one that the request names: it must be that of the set."""
        record = self._controller.sets.get(name or "")
        if record is not None and cluster and record.cluster and cluster != record.cluster:
            remark = f"Broker-set: {name} is of cluster {record.cluster}, not {quoted(cluster)}"
            raise RequestRefused(ResponseCode.CONTROLLER_INVALID_REQUEST, remark)

    async def _change(self, name: str | None, rule: Rule) -> Answer:
        return (await self._controller.change(name or "", rule)).answer

    # -- who may answer -------------------------------------------------------------------------------------------

    def _for_leader(self, ask: Callable[[Connection, Command], Answer]) -> Handler:
        def handler(connection: Connection, request: Command) -> Reply:
            self._require_leadership()
            return _reply(request, ask(connection, request))

        return handler

    def _for_leader_slowly(self, ask: Callable[[Connection, Command], Awaitable[Answer]]) -> SlowHandler:
        async def handler(connection: Connection, request: Command) -> Reply:
            self._require_leadership()
            return _reply(request, await ask(connection, request))

        return handler

    def _require_leadership(self) -> None:
        if not self._controller.is_leader:
            raise RequestRefused(ResponseCode.CONTROLLER_NOT_LEADER, _NOT_LEADER)


def _reply(request: Command, answer: Answer) -> Reply:
    return request.reply(answer.code, answer.remark, ext_fields=answer.ext_fields, body=answer.body)
