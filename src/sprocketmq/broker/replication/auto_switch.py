"""Master and slave of a broker under a controller: the auto-switch stream, epochs, and the in-sync set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sprocketmq.broker.replication.auto_switch_link import AutoSwitchLink
from sprocketmq.broker.replication.auto_switch_stream import AutoSwitchStream
from sprocketmq.broker.replication.epoch_store import FILE_NAME, EpochStore
from sprocketmq.broker.replication.in_sync_set import InSyncSet
from sprocketmq.broker.replication.log_comparison import LogComparison
from sprocketmq.broker.replication.master import Master
from sprocketmq.broker.replication.slave import Slave
from sprocketmq.broker.replication.slave_link import LinkOwner, SlaveLink
from sprocketmq.protocol.bodies.ha import EpochEntry, EpochEntryCache
from sprocketmq.protocol.ha.switch_stream import Handshake
from sprocketmq.store.replica import Replica

if TYPE_CHECKING:
    from sprocketmq.broker.broker import Broker


#: What RocketMQ gives as the end of the epoch that goes on.
MAX_OFFSET = (1 << 63) - 1


class AutoSwitchReplication:
    """`broker_id` is the controller's name for this broker, once it has one."""

    def __init__(self, broker: Broker, replica: Replica) -> None:
        self.broker_id = -1
        self._settings = broker.settings
        self._roles = broker.roles
        self._store = broker.store
        self._replica = replica
        path = broker.settings.current.store_path_epoch_file
        self.epochs = EpochStore(broker.files, Path(path) if path else broker.store.layout.root / FILE_NAME)
        self.epochs.load(broker.store.log.max_offset)
        self.in_sync = InSyncSet(broker.settings, broker.store, lambda: asyncio.get_running_loop().time())
        self.master = Master(
            broker.settings, broker.store, replica, broker.acks, broker.roles, self.in_sync, self._make_link
        )
        log_comparison = LogComparison(broker.store, broker.client, lambda: len(self.epochs.list) > 0)
        self.slave = Slave(
            broker.settings, broker.store, replica, broker.roles, log_comparison, broker.acks, self._make_stream
        )
        replica.on_anew.append(self.epochs.forget)
        replica.on_cut.append(lambda _end: broker.offsets.clamp(broker.store.max_offset))

    def _make_link(self, owner: LinkOwner) -> SlaveLink:
        return AutoSwitchLink(
            self._settings, self._store, self._replica, owner, self.epochs, lambda: self.in_sync.offset
        )

    def _make_stream(self, reportable: Callable[[], int]) -> AutoSwitchStream:
        config = self._settings.current
        handshake = Handshake(self.broker_id, config.sync_from_last_file, config.async_learner)
        return AutoSwitchStream(self._replica, reportable, self._store, self.epochs, handshake)

    def epoch_entries(self) -> EpochEntryCache:
        """As mqadmin's getBrokerEpoch shows them: each ends where the next begins, the last with the log."""
        config, end, epochs = self._settings.current, self._store.log.max_offset, self.epochs.list
        entries = tuple(
            EpochEntry(epoch=each.epoch, start_offset=each.start, end_offset=epochs.end_of(each, MAX_OFFSET))
            for each in epochs
        )
        return EpochEntryCache(
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
            broker_id=self._roles.current.broker_id,
            epoch_list=entries,
            max_offset=end,
        )

    async def lead(self, epoch: int, members: Iterable[int], set_epoch: int) -> None:
        """Call before this broker becomes, or stays, the master of an epoch; it is fenced, so that its log rests."""
        if self.slave.stream is not None:  # first: what the old master still sends is nobody's now
            self.slave.stream.close("this broker is the master now")
        self._replica.take_over()
        log, last = self._store.log, self.epochs.list.last
        begin = log.max_offset
        if last is None or last.epoch != epoch:
            await self.epochs.lead(epoch, log.min_offset, begin)
        else:
            begin = last.start  # a restart in its own epoch goes on in it
        self.in_sync.begin(self.broker_id, members, set_epoch, begin)
        self._store.readable.limit(self.in_sync.offset)
        self._replica.dispatch()  # what the old master brought home must be found before anything is delivered
