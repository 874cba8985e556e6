"""The broker's configuration: shown whole, changed within the list of keys that are safe to change.

A change is taken whole or not at all. It is logged with its peer, and outlives a restart. Under a controller the id
and the role that are told are those that the broker has now: its file says -1 and SLAVE, whatever it has become.
"""

from __future__ import annotations

from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.config import BrokerRole
from sprocketmq.broker.roles import Role, Roles
from sprocketmq.broker.settings import Settings, is_runtime
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.logs import Events
from sprocketmq.properties_file import format_properties
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.broker import GetBrokerConfigResponseHeader
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.remoting.config_request import config_change
from sprocketmq.store.files.clock import Clock

events = Events("sprocketmq.broker.admin.settings")


class SettingProcessors:
    def __init__(self, settings: Settings, roles: Roles, registration: Registration, clock: Clock) -> None:
        self._settings = settings
        self._roles = roles
        self._registration = registration
        self._clock = clock

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_BROKER_CONFIG, self.get)
        table.add_slow(RequestCode.UPDATE_BROKER_CONFIG, self.update)

    def get(self, _connection: Connection, request: Command) -> Reply:
        version = codec.encode(self._settings.version).decode()
        return request.reply(
            ext_fields=to_ext_fields(GetBrokerConfigResponseHeader(version=version)),
            body=format_properties(self._settings.entries() | self._given_by_controller()).encode(),
        )

    def _given_by_controller(self) -> dict[str, str]:
        standing = self._roles.current
        if not self._settings.current.enable_controller_mode or standing.role is Role.FENCED:
            return {}
        role = BrokerRole.SYNC_MASTER if standing.is_master else BrokerRole.SLAVE
        return {"brokerId": str(standing.broker_id), "brokerRole": role.value}

    async def update(self, connection: Connection, request: Command) -> Reply:
        with config_change(connection, request, events, self._is_fixed, ResponseCode.INVALID_PARAMETER) as entries:
            await self._settings.update(entries, self._clock.now_ms())
        if "brokerPermission" in entries:
            self._registration.soon()
        return request.reply()

    def _is_fixed(self, key: str) -> bool:
        return key in self._settings.entries() and not is_runtime(key)
