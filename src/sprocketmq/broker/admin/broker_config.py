"""The broker's configuration: shown whole, changed within the list of keys that are safe to change.

A change is taken whole or not at all. It is logged with its peer, and outlives a restart.
"""

from __future__ import annotations

from sprocketmq.broker.cluster.registration import Registration
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
from sprocketmq.store.files.files import Clock

events = Events("sprocketmq.broker.admin.settings")


class SettingProcessors:
    def __init__(self, settings: Settings, registration: Registration, clock: Clock) -> None:
        self._settings = settings
        self._registration = registration
        self._clock = clock

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_BROKER_CONFIG, self.get)
        table.add_slow(RequestCode.UPDATE_BROKER_CONFIG, self.update)

    def get(self, _connection: Connection, request: Command) -> Reply:
        version = codec.encode(self._settings.version).decode()
        return request.reply(
            ext_fields=to_ext_fields(GetBrokerConfigResponseHeader(version=version)),
            body=format_properties(self._settings.entries()).encode(),
        )

    async def update(self, connection: Connection, request: Command) -> Reply:
        with config_change(connection, request, events, self._is_fixed, ResponseCode.INVALID_PARAMETER) as entries:
            await self._settings.update(entries, self._clock.now_ms())
        if "brokerPermission" in entries:
            self._registration.soon()
        return request.reply()

    def _is_fixed(self, key: str) -> bool:
        return key in self._settings.entries() and not is_runtime(key)
