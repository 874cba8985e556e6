"""The broker's configuration: shown whole, changed within the list of keys that are safe to change.

A change is taken whole or not at all. It is logged with its peer, and outlives a restart.
"""

from __future__ import annotations

from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.settings import Settings, is_runtime, shown
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConfigError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.properties_file import format_properties, parse_properties
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.broker import GetBrokerConfigResponseHeader
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.files import Clock

events = Events("sprocketmq.broker.admin.settings")


class SettingProcessors:
    def __init__(self, settings: Settings, registration: Registration, clock: Clock) -> None:
        self._settings = settings
        self._registration = registration
        self._clock = clock

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_BROKER_CONFIG, self.get)
        table.add(RequestCode.UPDATE_BROKER_CONFIG, self.update)

    def get(self, _connection: Connection, request: Command) -> Reply:
        version = codec.encode(self._settings.version).decode()
        return request.reply(
            ext_fields=to_ext_fields(GetBrokerConfigResponseHeader(version=version)),
            body=format_properties(self._settings.entries()).encode(),
        )

    def update(self, connection: Connection, request: Command) -> Reply:
        entries = _entries(request)
        try:
            self._settings.update(entries, self._clock.now_ms())
        except ConfigError as error:
            events.warning("configuration change refused", keys=",".join(entries), reason=error, peer=connection.peer)
            fixed = any(key in self._settings.entries() and not is_runtime(key) for key in entries)
            code = ResponseCode.NO_PERMISSION if fixed else ResponseCode.INVALID_PARAMETER
            raise RequestRefused(code, str(error)) from None
        for key, value in entries.items():
            events.info("configuration changed", key=key, value=shown(key, value), peer=connection.peer)
        if "brokerPermission" in entries:
            self._registration.soon()
        return request.reply()


def _entries(request: Command) -> dict[str, str]:
    try:
        return parse_properties(bytes(request.body).decode())
    except UnicodeDecodeError:
        raise RequestRefused(ResponseCode.INVALID_PARAMETER, "the configuration is not UTF-8 text") from None
    except ConfigError as error:
        raise RequestRefused(ResponseCode.INVALID_PARAMETER, str(error)) from None
