"""How replication stands, for operators: in the runtime info and on the metrics page.

sprocketmq_replica_lag_bytes     of each slave, at its master; at a slave, -1 while it does not follow
sprocketmq_replicas_in_sync      slaves that are not far behind
sprocketmq_broker_is_master      1 or 0
sprocketmq_mended_messages_total damaged messages of the log that were replaced by another broker's
"""

from __future__ import annotations

from collections.abc import Iterator

from sprocketmq.broker.replication.log_repair import LogRepair
from sprocketmq.broker.replication.master import Master
from sprocketmq.broker.replication.slave import Slave
from sprocketmq.broker.roles import Roles
from sprocketmq.metrics.exposition import COUNTER, GAUGE, Metric
from sprocketmq.store.store import MessageStore


class ReplicationFigures:
    def __init__(self, roles: Roles, store: MessageStore, master: Master, slave: Slave, repair: LogRepair) -> None:
        self._roles = roles
        self._store = store
        self._master = master
        self._slave = slave
        self._repair = repair

    def runtime_info(self) -> dict[str, str]:
        standing = self._roles.current
        info = {"brokerRoleNow": standing.role.value, "masterEpoch": str(standing.epoch)}
        if standing.is_master:
            return info | {
                "slaveNums": str(len(self._master.replicas.links)),
                "inSyncSlaveNums": str(len(self._master.replicas.in_sync())),
            }
        return info | {"masterHaAddress": standing.ha_address, "replicationTrouble": self._slave.trouble}

    def metrics(self) -> Iterator[Metric]:
        is_master = self._roles.current.is_master
        yield Metric("sprocketmq_broker_is_master", GAUGE, "1 where messages are taken.").add(int(is_master))
        mended = Metric("sprocketmq_mended_messages_total", COUNTER, "Damaged messages replaced by another broker's.")
        yield mended.add(self._repair.count)
        lag = Metric("sprocketmq_replica_lag_bytes", GAUGE, "Bytes of the log that a slave has not confirmed.")
        if not is_master:
            yield lag.add(0 if self._slave.stream is not None else -1, slave="self")
            return
        replicas = self._master.replicas
        in_sync = Metric("sprocketmq_replicas_in_sync", GAUGE, "Slaves that are not far behind.")
        yield in_sync.add(len(replicas.in_sync()))
        for link in replicas.links:
            lag.add(self._store.log.max_offset - max(link.ack, 0), slave=str(link.peer))
        yield lag
