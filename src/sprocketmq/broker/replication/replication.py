"""The parts of replication, put together for one broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.broker.replication.auto_switch import AutoSwitchReplication
from sprocketmq.broker.replication.figures import ReplicationFigures
from sprocketmq.broker.replication.log_comparison import LogComparison
from sprocketmq.broker.replication.log_repair import LogRepair
from sprocketmq.broker.replication.master import Master
from sprocketmq.broker.replication.master_tables import MasterTables
from sprocketmq.broker.replication.slave import Slave
from sprocketmq.broker.replication.slave_tables import SlaveTables
from sprocketmq.store.replica import Replica

if TYPE_CHECKING:
    from sprocketmq.broker.broker import Broker


class Replication:
    """`master` gives the log, `slave` takes it: which of them has work to do is a matter of the role."""

    def __init__(self, broker: Broker) -> None:
        kinds = broker.kinds
        self.replica = Replica(broker.store, broker.files)
        auto_switch = broker.settings.current.enable_controller_mode
        self.auto_switch = AutoSwitchReplication(broker, self.replica) if auto_switch else None
        if self.auto_switch is not None:
            self.master, self.slave = self.auto_switch.master, self.auto_switch.slave
        else:
            self.master = Master(broker.settings, broker.store, self.replica, broker.acks, broker.roles)
            self.slave = Slave(
                broker.settings, broker.store, self.replica, broker.roles, LogComparison(broker.store, broker.client),
                broker.acks,
            )  # fmt: skip
        self.replica.on_cut += [lambda _end: kinds.timer.files.forget_wheel(), lambda _end: kinds.popped.cut()]
        self.replica.on_anew += [kinds.timer.files.forget_wheel, kinds.popped.cut]
        self.repair = LogRepair(
            broker.settings, broker.store, broker.roles, broker.client, broker.inner_signer, lambda: broker.address,
            (broker.pulls.long_polls.wake, kinds.pops.polls.wake),
        )  # fmt: skip
        self.replica.on_cut.append(lambda _end: self.repair.log_cut())
        self.replica.on_anew.append(self.repair.log_cut)
        self.master.on_begin = self.repair.check
        self.master.on_change = broker.sends.admission.close
        self.slave.on_lost = broker.registration.soon
        self.master.tls, self.slave.calling = broker.tls.server, broker.tls.calling
        self.tables = MasterTables(
            broker.topics, broker.groups, broker.offsets, broker.mappings, kinds.schedule, kinds.timer,
            kinds.assignments, broker.store.deleted.table, broker.store.boot_timestamp,
        )  # fmt: skip
        self._slave_tables = SlaveTables(
            broker.roles, broker.store, broker.client, broker.topics, broker.groups, broker.offsets, broker.mappings,
            kinds.schedule, kinds.timer, kinds.assignments, broker.deletions, kinds.popped,
        )  # fmt: skip
        broker.sends.admission.gates.append(self.master.check_copies)
        figures = ReplicationFigures(broker.roles, broker.store, self.master, self.slave, self.repair)
        broker.figures.append(figures.runtime_info)
        broker.metrics.sources.append(figures.metrics)

    async def start(self, listen_port: int) -> None:
        await self.master.start(listen_port)
        self.slave.start(self._slave_tables)
        self.repair.start()

    async def stop(self) -> None:
        await self.repair.stop()
        await self.slave.stop()
        await self.master.stop()
