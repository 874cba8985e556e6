"""The RocksDB tools of mqadmin, for a broker that keeps queues and configuration in files.

As RocketMQ's broker with its default store they are answered, and find nothing to do: a check is announced and its
outcome is in the log, and an export is done at once, for the JSON files are what is kept.
"""

from __future__ import annotations

import orjson

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, ProcessorTable, Reply

events = Events("sprocketmq.broker.admin.rocksdb")

_IN_PROGRESS = 2
_CONFIG_TYPES = frozenset({"topics", "subscriptiongroups", "consumeroffsets"})


class RocksDBProcessors:
    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, self.check_queues)
        table.add(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, self.export)

    def check_queues(self, connection: Connection, request: Command) -> Reply:
        result = "this broker keeps its queues in files, none of them in RocksDB"
        events.info("RocksDB queues checked", result=result, peer=connection.peer)
        return request.reply(body=orjson.dumps({"checkResult": result, "checkStatus": _IN_PROGRESS}))

    def export(self, _connection: Connection, request: Command) -> Reply:
        names = [name.strip() for name in (request.ext_fields or {}).get("configType", "").split(";")]
        wanted = [name for name in names if name]
        unknown = [name for name in wanted if name.lower() not in _CONFIG_TYPES]
        if unknown or not wanted:
            found = ", ".join(unknown) or "nothing"
            remark = f"configType names {found}, expected topics, subscriptionGroups or consumerOffsets"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        return request.reply(ResponseCode.SUCCESS, "export done.")
