"""What slaves copy from their master, and how replication stands."""

from __future__ import annotations

from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.delay.levels import Schedule
from sprocketmq.broker.delay.timer import Timer
from sprocketmq.broker.pop.assignment import Assignments
from sprocketmq.broker.replication.master_tables import LOG_END, TABLES
from sprocketmq.broker.replication.replication import Replication
from sprocketmq.broker.roles import Roles
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol import java_json
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.ha import HAClientRuntimeInfo, HAConnectionRuntimeInfo, HARuntimeInfo
from sprocketmq.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.ha import (
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
    ResetMasterFlushOffsetHeader,
)
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.admin.replication")


class ReplicationProcessors:
    def __init__(
        self, store: MessageStore, offsets: ConsumerOffsets, schedule: Schedule, timer: Timer, assignments: Assignments,
        replication: Replication, roles: Roles, registration: Registration, clock: Clock,
    ) -> None:  # fmt: skip
        self._store = store
        self._offsets = offsets
        self._schedule = schedule
        self._timer = timer
        self._assignments = assignments
        self._replication = replication
        self._roles = roles
        self._registration = registration
        self._clock = clock

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.GET_ALL_CONSUMER_OFFSET, self.consumer_offsets)
        table.add(RequestCode.GET_ALL_DELAY_OFFSET, self.delay_offsets)
        table.add(RequestCode.GET_TIMER_CHECK_POINT, self.timer_check_point)
        table.add(RequestCode.GET_TIMER_METRICS, self.timer_metrics)
        table.add(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, self.request_modes)
        table.add(RequestCode.GET_BROKER_HA_STATUS, self.status)
        table.add(RequestCode.EXCHANGE_BROKER_HA_INFO, self.exchange)
        table.add(RequestCode.RESET_MASTER_FLUSH_OFFSET, self.reset_master_flush_offset)
        table.add(RequestCode.GET_BROKER_EPOCH_CACHE, self.epochs)

    def consumer_offsets(self, _connection: Connection, request: Command) -> Reply:
        body = ConsumerOffsetSerializeWrapper(offset_table=self._offsets.table, data_version=self._offsets.data_version)
        return request.reply(body=codec.encode(body))

    def delay_offsets(self, _connection: Connection, request: Command) -> Reply:
        body = DelayOffsetSerializeWrapper(offset_table=self._schedule.offsets())
        return request.reply(body=codec.encode(body))

    def timer_check_point(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=self._timer.files.check.encode())

    def timer_metrics(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=java_json.dumps(self._timer.resting.tree()))

    def request_modes(self, _connection: Connection, request: Command) -> Reply:
        return request.reply(body=codec.encode(self._assignments.body()))

    def exchange(self, _connection: Connection, request: Command) -> Reply:
        """A slave asks where its master gives the log; a master that starts tells its slaves so."""
        told = from_ext_fields(ExchangeHAInfoRequestHeader, request.ext_fields or {})
        if told.master_ha_address:
            self._roles.follow(told.master_address or None, told.master_ha_address)
            return request.reply()
        if not self._roles.current.is_master:
            return request.reply()
        header = ExchangeHAInfoResponseHeader(
            master_ha_address=self._registration.ha_address,
            master_flush_offset=self._store.report.end_offset,
            master_address=self._registration.address,
        )
        fields = {TABLES: str(self._replication.tables), LOG_END: str(self._store.log.max_offset)}
        return request.reply(ext_fields=to_ext_fields(header) | fields)

    def status(self, _connection: Connection, request: Command) -> Reply:
        info = self._as_master() if self._roles.current.is_master else self._as_slave()
        return request.reply(body=codec.encode(info))

    def _as_master(self) -> HARuntimeInfo:
        master, end = self._replication.master, self._store.log.max_offset
        in_sync = master.replicas.in_sync()
        links = tuple(
            HAConnectionRuntimeInfo(
                addr=str(link.peer),
                slave_ack_offset=link.ack,
                diff=end - link.ack,
                in_sync=link in in_sync,
                transferred_byte_in_second=master.rates.get(link, 0),
                transfer_from_where=-1 if link.cursor is None else link.cursor.offset,
            )
            for link in master.replicas.links
        )
        return HARuntimeInfo(
            master=True, master_commit_log_max_offset=end, in_sync_slave_nums=len(in_sync), ha_connection_info=links
        )

    def _as_slave(self) -> HARuntimeInfo:
        slave = self._replication.slave
        read_ms, wrote_ms = slave.last_times(self._clock.now_ms())
        client = HAClientRuntimeInfo(
            master_addr=self._roles.current.ha_address,
            transferred_byte_in_second=slave.rate,
            max_offset=self._store.log.max_offset,
            last_read_timestamp=read_ms,
            last_write_timestamp=wrote_ms,
            master_flush_offset=0,
        )
        return HARuntimeInfo(master=False, ha_client_runtime_info=client)

    def reset_master_flush_offset(self, connection: Connection, request: Command) -> Reply:
        """A slave notes it in its checkpoint, as RocketMQ's do; a master has nothing to set."""
        header = from_ext_fields(ResetMasterFlushOffsetHeader, request.ext_fields)
        if self._roles.current.is_slave:
            self._store.checkpoint.master_flushed_offset = header.master_flush_offset
        else:
            events.info("master flush offset not used", offset=header.master_flush_offset, peer=connection.peer)
        return request.reply()

    def epochs(self, _connection: Connection, request: Command) -> Reply:
        auto_switch = self._replication.auto_switch
        if auto_switch is None:
            remark = "this broker runs without a controller, so its log has no epochs"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        return request.reply(body=codec.encode(auto_switch.epoch_entries()))
