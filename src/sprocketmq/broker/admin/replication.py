"""What slaves copy from their master, and how replication stands: this broker is a master without slaves."""

from __future__ import annotations

from sprocketmq.broker.delay.levels import Schedule
from sprocketmq.broker.delay.timer import Timer
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import java_json
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.ha import HARuntimeInfo
from sprocketmq.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.ha import ResetMasterFlushOffsetHeader
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.admin.replication")


class ReplicationProcessors:
    def __init__(self, store: MessageStore, offsets: ConsumerOffsets, schedule: Schedule, timer: Timer) -> None:
        self._store = store
        self._offsets = offsets
        self._schedule = schedule
        self._timer = timer

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_ALL_CONSUMER_OFFSET, self.consumer_offsets)
        table.add(RequestCode.GET_ALL_DELAY_OFFSET, self.delay_offsets)
        table.add(RequestCode.GET_TIMER_CHECK_POINT, self.timer_check_point)
        table.add(RequestCode.GET_TIMER_METRICS, self.timer_metrics)
        table.add(RequestCode.GET_BROKER_HA_STATUS, self.status)
        table.add(RequestCode.RESET_MASTER_FLUSH_OFFSET, self.reset_master_flush_offset)
        table.add(RequestCode.GET_BROKER_EPOCH_CACHE, self.epochs)

    def consumer_offsets(self, _connection: Connection, request: Command) -> Reply:
        body = ConsumerOffsetSerializeWrapper(offset_table=self._offsets.table, data_version=self._offsets.data_version)
        return request.reply(body=codec.encode(body))

    def delay_offsets(self, _connection: Connection, request: Command) -> Reply:
        body = DelayOffsetSerializeWrapper(offset_table=self._schedule.offsets())
        return request.reply(body=codec.encode(body))

    def timer_check_point(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=self._timer.check.encode())

    def timer_metrics(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=java_json.dumps(self._timer.resting.tree()))

    def status(self, _connection: Connection, request: Command) -> Reply:
        body = HARuntimeInfo(master=True, master_commit_log_max_offset=self._store.log.max_offset)
        return request.reply(body=codec.encode(body))

    def reset_master_flush_offset(self, connection: Connection, request: Command) -> Reply:
        """Meant for slaves; a master has nothing to set."""
        header = from_ext_fields(ResetMasterFlushOffsetHeader, request.ext_fields)
        events.info("master flush offset not used", offset=header.master_flush_offset, peer=connection.peer)
        return request.reply()

    def epochs(self, _connection: Connection, _request: Command) -> Reply:
        remark = "this broker runs without a controller, so its log has no epochs"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
