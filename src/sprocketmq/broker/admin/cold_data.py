"""Cold data: thresholds of groups that read it, who reads it now, and whether the kernel reads the log ahead."""

from __future__ import annotations

import orjson

from sprocketmq.broker.pull.cold_data import ColdReads
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.config import parse_integer
from sprocketmq.errors import ConfigError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.properties_file import parse_properties
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.clock import Clock

events = Events("sprocketmq.broker.admin.cold_data")

#: The kernel's numbers, which mqadmin sends: read ahead as usual, or not at all.
_READ_AHEAD = {"0": "true", "1": "false"}


class ColdDataProcessors:
    def __init__(self, settings: Settings, cold: ColdReads, clock: Clock) -> None:
        self._settings = settings
        self._cold = cold
        self._clock = clock

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, self.update)
        table.add(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, self.remove)
        table.add(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, self.info)
        table.add_slow(RequestCode.SET_COMMITLOG_READ_MODE, self.set_read_mode)

    def update(self, connection: Connection, request: Command) -> Reply:
        """The body is a properties file of groups and bytes. What is no number is passed over, as in RocketMQ."""
        for group, text in _properties(request).items():
            try:
                self._cold.thresholds[group] = parse_integer(text)
            except ValueError:
                events.warning("cold data threshold refused", group=group, value=text, peer=connection.peer)
            else:
                events.info("cold data threshold set", group=group, value=text, peer=connection.peer)
        return request.reply()

    def remove(self, connection: Connection, request: Command) -> Reply:
        group = bytes(request.body).decode("utf-8", "replace")
        self._cold.thresholds.pop(group, None)
        events.info("cold data threshold removed", group=group, peer=connection.peer)
        return request.reply()

    def info(self, _connection: Connection, request: Command) -> Reply:
        cold, config = self._cold, self._settings.current
        groups = {
            name: {"coldAcc": group.read, "createTimeMills": group.first_ms, "lastColdReadTimeMills": group.last_ms}
            for name, group in cold.groups.items()
        }
        body = {
            "runtimeTable": groups,
            "configTable": cold.thresholds,
            "cgColdReadThreshold": config.cg_cold_read_threshold,
            "globalColdReadThreshold": config.global_cold_read_threshold,
            "globalAcc": cold.read,
        }
        return request.reply(body=orjson.dumps(body))

    async def set_read_mode(self, connection: Connection, request: Command) -> Reply:
        fields = request.ext_fields or {}
        mode = fields.get("READ_AHEAD_MODE", "")
        if not mode.removeprefix("-").isdecimal():
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"READ_AHEAD_MODE is {mode!r}, expected 0 or 1")
        if mode not in _READ_AHEAD:
            remark = f"READ_AHEAD_MODE {mode} is neither 0, read ahead, nor 1, do not"
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
        await self._settings.update({"dataReadAheadEnable": _READ_AHEAD[mode]}, self._clock.now_ms())
        events.info("read-ahead set", enabled=_READ_AHEAD[mode], peer=connection.peer)
        return request.reply(ResponseCode.SUCCESS, f"set commitlog readahead mode success, mode: {mode}")


def _properties(request: Command) -> dict[str, str]:
    try:
        return parse_properties(bytes(request.body).decode())
    except (UnicodeDecodeError, ConfigError) as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"no properties: {error}") from None
