"""The broker: owns the store, the tables, the processors and the loops around them.

    start   settings -> store (locked, recovered) -> tables -> processors -> socket -> nameservers
    stop    nameservers -> parked requests -> socket -> tables saved -> store

Everything runs on one event loop; only the store's flush has threads.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import Callable, Mapping
from datetime import datetime

from sprocketmq.broker import admin
from sprocketmq.broker.admin.runtime_info import Source
from sprocketmq.broker.cluster.addresses import own_address, packed_host
from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.config import BrokerConfig, MetricsExporter
from sprocketmq.broker.handlers.heartbeat import ClientProcessors
from sprocketmq.broker.handlers.lookup import QueryProcessors
from sprocketmq.broker.handlers.queue_offsets import OffsetProcessors
from sprocketmq.broker.metrics.exporter import Exporter
from sprocketmq.broker.metrics.prometheus import Metrics
from sprocketmq.broker.metrics.stats import SAMPLE_SECONDS, Stats
from sprocketmq.broker.periodic import Periodic
from sprocketmq.broker.pull.cold_data import PERIOD_SECONDS, ColdReads
from sprocketmq.broker.pull.offset_moved import MovedOffsets
from sprocketmq.broker.pull.processors import PullProcessors
from sprocketmq.broker.send.backpressure import Pressure
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.broker.static_topic.peers import BrokerPeers
from sprocketmq.broker.static_topic.retention import CLEAN_SECONDS, MappingCleaner
from sprocketmq.broker.tables.group_members import ConsumerGroup, ConsumerTable, ProducerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.queue_locks import LockProcessors, QueueLocks
from sprocketmq.broker.tables.saver import Saver, save_all
from sprocketmq.broker.tables.sql_filters import FilterTable
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.broker.wiring import MessageKinds, make_sends
from sprocketmq.config import from_properties
from sprocketmq.errors import FilterError
from sprocketmq.filter.sql import compile_sql
from sprocketmq.logs import Events
from sprocketmq.protocol.record.ids import UniqueIds
from sprocketmq.remoting import ProcessorTable, RemotingClient, RemotingServer
from sprocketmq.remoting.peer import format_address
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.config_files import (
    consumer_filters_file,
    consumer_offsets_file,
    queue_mappings_file,
    subscription_groups_file,
    topics_file,
)
from sprocketmq.store.files.files import Clock, Disk, Files, SystemClock
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.broker")

_CLIENT_SCAN_SECONDS = 10.0
_FILTER_SAVE_SECONDS = 10.0
_CLEANING_PAUSE_SECONDS = 0.01
_WARMING_SECONDS = 1.0
#: What could not be dispatched, say for want of a file descriptor, is tried again, whether or not anybody sends.
_DISPATCH_SECONDS = 1.0
#: The VIP port is this far below the port that clients are told.
VIP_DISTANCE = 2
#: How long a save of the offsets waits for the log.
_LOG_WAIT_MS = 30_000
#: How long the stop waits for requests that are being answered.
_GRACE_SECONDS = 3.0


class Broker:
    """One broker. Its parts are public: what processors need of each other they are given when they are made."""

    @classmethod
    def from_entries(cls, entries: Mapping[str, str]) -> Broker:
        """The broker that the entries of a broker.conf describe."""
        return cls(from_properties(BrokerConfig, entries), StoreConfig.from_properties(entries))

    def __init__(
        self, config: BrokerConfig, store_config: StoreConfig, *, files: Files | None = None,
        clock: Clock | None = None, ssl: tls.SSLContext | None = None,
    ) -> None:  # fmt: skip
        self.files = files or Disk()
        self.clock = clock or SystemClock()
        self.settings = Settings(config, store_config, self.files)
        self.table = ProcessorTable()
        self.server = RemotingServer(self.table, config.bind_address, config.listen_port, config.limits(), ssl)
        self._host = config.broker_ip1 or own_address()
        self.metrics = Metrics(self)
        self.exporter: Exporter | None = None
        self.figures: list[Source] = []
        self._jobs: list[Periodic] = []
        self._savers: list[Saver] = []
        self._warming: asyncio.TimerHandle | None = None
        self._started = False

    @property
    def name(self) -> str:
        return self.settings.current.broker_name

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def address(self) -> str:
        """What clients are told."""
        return format_address(self._host, self.server.port)

    # -- start --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the store and serve. Raises StoreLocked when another broker runs on the same directory."""
        self._open_store()
        try:
            self._open_tables()
            self._add_processors()
            admin.guard(self)
        except BaseException:
            self._give_back()
            raise
        try:
            await self.server.start()
            await self._open_vip_port()
            self._set_host()
            self._start_services()
            await self._start_exporter()
            await self.registration.start(self.address, self._ha_address())
        except BaseException:
            await self._close()
            raise
        self._started = True
        events.info(
            "broker started", broker=self.name, address=self.address, topics=len(self.topics.configs),
            messages_end=self.store.log.max_offset,
        )  # fmt: skip

    def _open_store(self) -> None:
        host = packed_host(self._host, self.settings.current.listen_port)
        self.store = MessageStore.open(self.settings.store, files=self.files, clock=self.clock, store_host=host)

    def _give_back(self) -> None:
        """Nothing was served yet: leave the directory as it was found, so that the next start recovers it as this one
        did, and takes up topics that only the log knows.
        """
        try:
            for saver in self._savers:
                saver.close()
        finally:
            if self.store.report.clean:
                self.store.close()
            else:
                self.store.abandon()

    def _open_tables(self) -> None:
        config, clock = self.settings.current, self.clock
        self.settings.on_store_change.append(self.store.reconfigure)
        self.settings.load()
        folder = self.store.layout.config
        durable = self.settings.store.sync_flush
        self.topics = TopicTable(topics_file(self.files, folder), self.settings, clock, durable=durable)
        self.groups = GroupTable(subscription_groups_file(self.files, folder), self.settings, clock)
        self.offsets = ConsumerOffsets(consumer_offsets_file(self.files, folder), clock)
        self.filters = FilterTable(consumer_filters_file(self.files, folder), self.settings, clock)
        self.mappings = QueueMappings(queue_mappings_file(self.files, folder), self.name, clock)
        self._savers = [self.topics.saver, self.groups.saver]
        for part in (self.topics, self.groups, self.offsets, self.filters, self.mappings):
            part.load()
        if not self.store.report.clean:
            self.topics.adopt({topic: max(self.store.queues.of_topic(topic)) + 1 for topic in self.store.topics()})
            self.offsets.clamp(self.store.max_offset)
        self.offsets.log_is_safe = self._wait_for_log
        self.filters.stored_ms = lambda: self.store.appender.store_timestamp
        if self.store.exts is not None and config.enable_calc_filter_bit_map:
            self.store.exts.filter_bits = self.filters.bits
        self.producers = ProducerTable(clock)
        self.consumers = ConsumerTable(clock)
        self.consumers.subscribe = self.filters.subscribe
        self.consumers.on_change.append(self._group_changed)
        self.locks = QueueLocks(clock)
        self.stats = Stats(config.broker_cluster_name)
        self.pressure = Pressure(self.settings)
        self.acks = Acks(self.store)
        self.client = RemotingClient()
        self.registration = Registration(self.settings, self.topics, self.mappings, self.client)

    def _add_processors(self) -> None:
        settings, store, clock = self.settings, self.store, self.clock
        unique_ids = UniqueIds(packed_host(self._host, 0)[:-4], clock.now_ms)
        self.cold = ColdReads(settings, store, clock)
        peers = BrokerPeers(settings, self.client)
        self.logical = LogicalRequests(self.mappings, self.table, peers, self.name)
        self.pulls = PullProcessors(
            settings, store, self.topics, self.groups, self.consumers, self.offsets, self.stats,
            MovedOffsets(store, clock), self.cold, self.mappings, self.logical,
        )  # fmt: skip
        self.pulls.add_to(self.table)
        OffsetProcessors(store, self.topics, self.groups, self.offsets).add_to(self.table)
        QueryProcessors(store).add_to(self.table)
        ClientProcessors(settings, self.topics, self.groups, self.producers, self.consumers, clock).add_to(self.table)
        LockProcessors(self.locks).add_to(self.table)
        self._add_logical_queues(peers)
        self.kinds = MessageKinds(self)
        self.sends = make_sends(self, unique_ids, self.logical, self.kinds.interceptors)
        self.sends.add_to(self.table)
        admin.register(self)

    def _add_logical_queues(self, peers: BrokerPeers) -> None:
        """Static topics: their requests are taken before they reach the handlers of physical queues."""
        self.logical.add_to(self.table)
        self.mappings.on_change.append(lambda _topic: self.sends.admission.forget())
        self.mapping_cleaner = MappingCleaner(self.settings, self.mappings, peers.call, self.clock)

    async def _open_vip_port(self) -> None:
        """Clients reckon it from the port they are told. One that is taken costs those clients alone, not the start."""
        config = self.settings.current
        if not config.vip_channel_enable or config.listen_port <= VIP_DISTANCE:
            return  # a port that the system chose may have anything two below it
        try:
            await self.server.listen_also(config.listen_port - VIP_DISTANCE)
        except OSError as error:
            events.warning("no VIP port", port=config.listen_port - VIP_DISTANCE, reason=error.strerror)

    def _set_host(self) -> None:
        """With port 0 the address is known only now."""
        host = packed_host(self._host, self.server.port)
        self.store.appender.store_host = host
        self.sends.set_store_host(host)

    def _ha_address(self) -> str:
        config = self.settings.current
        return format_address(config.broker_ip2 or self._host, config.ha_listen_port)

    def _start_services(self) -> None:
        if self.settings.current.enable_property_filter:
            self._warming = asyncio.get_running_loop().call_later(_WARMING_SECONDS, self._warm_filters)
        self.acks.start()
        self.pressure.start()
        self.kinds.start()
        current = self.settings
        self._jobs = [
            Periodic("save offsets", lambda: current.current.flush_consumer_offset_interval / 1000, self._save_offsets),
            Periodic("expire clients", lambda: _CLIENT_SCAN_SECONDS, self._expire_clients),
            Periodic("save filters", lambda: _FILTER_SAVE_SECONDS, self.filters.begin_save),
            Periodic("forget cold reads", lambda: PERIOD_SECONDS, self.cold.begin_period),
            Periodic("clean mappings", lambda: CLEAN_SECONDS, self.mapping_cleaner.begin),
            Periodic("dispatch again", lambda: _DISPATCH_SECONDS, self.acks.progress),
            Periodic("sample stats", lambda: SAMPLE_SECONDS, self._sample),
            Periodic("clean files", lambda: current.store.clean_resource_interval / 1000, self.store.cleaner.run),
            Periodic("clean queues", self._cleaning_pause, self.store.cleaner.go_on),
        ]
        for job in self._jobs:
            job.start()

    def _warm_filters(self) -> None:
        """The first expression takes long: better on a thread than in a client's pull, or before the first answer."""
        asyncio.get_running_loop().run_in_executor(None, _load_filters)

    def _cleaning_pause(self) -> float:
        """Between two slices of work on the queues others have their turn."""
        return _CLEANING_PAUSE_SECONDS if self.store.cleaner.busy else 1.0

    async def _start_exporter(self) -> None:
        config = self.settings.current
        if config.metrics_exporter_type is MetricsExporter.PROM:
            host = config.metrics_prom_exporter_host or config.bind_address
            self.exporter = Exporter(self.metrics.text, host, config.metrics_prom_exporter_port)
            await self.exporter.start()

    def _save_offsets(self) -> None:
        self.kinds.begin_progress()
        self.offsets.saver.begin()

    def _group_changed(self, group: ConsumerGroup) -> None:
        if not group.members:
            self.filters.group_gone(group.name)

    def _expire_clients(self) -> None:
        timeout = self.settings.current.channel_expired_timeout
        self.producers.expire(timeout)
        self.consumers.expire(timeout)

    def _sample(self) -> None:
        self.stats.sample(datetime.fromtimestamp(self.clock.now_ms() / 1000).date())

    # -- stop ---------------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Take leave of the nameservers, answer what waits, save, close. Safe to call twice."""
        if not self._started:
            return
        self._started = False
        await self.registration.stop()
        await self._close()
        events.info("broker stopped", broker=self.name)

    async def _close(self) -> None:
        for job in self._jobs:
            job.stop()
        if self._warming is not None:
            self._warming.cancel()
        if self.exporter is not None:
            await self.exporter.stop()
        self.mapping_cleaner.stop()
        self.server.stop_accepting()
        self.pulls.long_polls.wake_all()
        self.kinds.pops.polls.wake_all()
        await self.server.stop(_GRACE_SECONDS)
        self.pulls.long_polls.woken.stop()
        await self.client.close()
        self.pressure.stop()
        settled = self.kinds.stop()
        self.acks.stop()
        if self._save() and settled:
            self.store.close()
        else:  # the next start must look for what the tables do not know
            self.store.flush()
            self.store.abandon()

    def _save(self) -> bool:
        """Whether every table is in its file. Offsets are saved when the log is: they must not be ahead of it."""
        saves: list[Callable[[], object]] = [*(saver.close for saver in self._savers), self.filters.save]
        if self.store.failure is None:
            self.store.flush()
            saves.append(self.offsets.save)
        return save_all(saves)

    def _wait_for_log(self) -> None:
        """On the thread that saves: as far as the log is written now, it is on disk when this returns."""
        end = self.store.log.max_offset
        self.store.flusher.flush_soon()
        if not self.store.flusher.wait(end, _LOG_WAIT_MS):
            raise TimeoutError("the log was not flushed in time")


def _load_filters() -> None:
    """Builds the grammar. Without its package each expression is refused, which is told once."""
    try:
        compile_sql("TRUE")
    except FilterError as missing:
        events.warning("no SQL92 subscriptions", why=missing)
