"""The broker: owns the store, the tables, the processors and the loops around them.

    start   settings -> store (locked, recovered) -> tables -> processors -> socket -> nameservers
    stop    nameservers -> parked requests -> socket -> tables saved -> store

Everything runs on one event loop; only the store's flush has threads.
"""

from __future__ import annotations

from collections.abc import Mapping

from sprocketmq.auth.authentication.inner_signer import InnerSigner
from sprocketmq.auth.wiring import Access
from sprocketmq.broker import admin
from sprocketmq.broker.admin.audited_state import broker_looks
from sprocketmq.broker.admin.runtime_info import Source
from sprocketmq.broker.background_jobs import BackgroundJobs
from sprocketmq.broker.cluster.addresses import own_address, packed_host
from sprocketmq.broker.cluster.registration import Registration
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.config_tables import ConfigTables
from sprocketmq.broker.controller_mode.controller_mode import ControllerMode
from sprocketmq.broker.handlers.heartbeat import ClientProcessors
from sprocketmq.broker.handlers.lookup import QueryProcessors
from sprocketmq.broker.handlers.queue_offsets import OffsetProcessors
from sprocketmq.broker.metrics.distributions import Distributions
from sprocketmq.broker.metrics.prometheus import Metrics
from sprocketmq.broker.metrics.special_message_figures import SpecialMessageFigures
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.pull.cold_data import ColdReads
from sprocketmq.broker.pull.offset_moved import MovedOffsets
from sprocketmq.broker.pull.wiring import PullProcessors
from sprocketmq.broker.replication.replication import Replication
from sprocketmq.broker.replication.role_rules import RoleRules
from sprocketmq.broker.roles import Role, Roles, Standing, standing_of
from sprocketmq.broker.send.backpressure import Pressure
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.static_topic.peers import BrokerPeers
from sprocketmq.broker.static_topic.retention import MappingCleaner
from sprocketmq.broker.tables.group_members import ConsumerGroup, ConsumerTable, ProducerTable
from sprocketmq.broker.tables.queue_locks import LockProcessors, QueueLocks
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.broker.tables.topic_deletions import TopicDeletions
from sprocketmq.broker.wiring import MessageKinds, make_sends
from sprocketmq.config import from_properties
from sprocketmq.logs import Events
from sprocketmq.metrics.exporter import Exporter
from sprocketmq.protocol.record.ids import UniqueIds
from sprocketmq.remoting import ProcessorTable, RemotingClient, RemotingServer
from sprocketmq.remoting.body_limits import limit_bodies
from sprocketmq.remoting.peer import format_address
from sprocketmq.remoting.tls import TlsService
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.files import Files
from sprocketmq.store.files.system_clock import SystemClock
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.broker")

#: The VIP port is this far below the port that clients are told.
VIP_DISTANCE = 2
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
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        self.files = files or Disk()
        self.clock = clock or SystemClock()
        self.settings = Settings(config, store_config, self.files)
        self.roles = Roles(standing_of(config))
        self.table = ProcessorTable()
        self.tls = TlsService.of(config)
        self.server = RemotingServer(
            self.table, config.bind_address, config.listen_port, config.limits(), self.tls.server, config.proxies()
        )
        self.server.connections.is_exempt = config.broker_access().allows
        self._host = config.broker_ip1 or own_address()
        self.metrics = Metrics(self)
        self.exporter = Exporter(config, self.metrics.text, self.unready)
        self.figures: list[Source] = []
        self._savers: list[Saver] = []
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
            self.access.guard(self.table)
            limit_bodies(self.table, self.settings.current, self.server.connections.refused)
            self.server.other_files = self.store.files_needed()
        except BaseException:
            self._give_back()
            raise
        try:
            self.tls.start()
            self.access.start()
            self.access.on_change(self._accounts_changed)
            await self.server.start()
            await self._open_vip_port()
            self._set_host()
            self._start_services()
            await self.replication.start(self.server.port)
            await self.exporter.start()
            await self.registration.start(self.address, self._ha_address())
            if self.controller_mode is not None:
                self.controller_mode.start()
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
        self.store = MessageStore.open(
            self.settings.store, files=self.files, clock=self.clock, store_host=host,
            confirmed_only=self.settings.current.enable_controller_mode,
        )  # fmt: skip

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
        self.tables = tables = ConfigTables(self.settings, self.store, self.files, clock)
        self._savers = tables.savers
        self.creations, self.topics, self.groups = tables.creations, tables.topics, tables.groups
        self.offsets, self.filters, self.mappings = tables.offsets, tables.filters, tables.mappings
        tables.load()
        self.access = Access(
            config, self.store.layout.config, config.broker_cluster_name, clock.now_ms, name=self.name,
            address=lambda: self.address,
        )  # fmt: skip
        self.access.audit.looks |= broker_looks(self)
        self.access.open()
        tables.follow_log()
        self.producers = ProducerTable(clock, lambda: self.settings.current.max_groups_per_connection)
        self.consumers = ConsumerTable(clock, lambda: self.settings.current.max_groups_per_connection)
        self.consumers.subscribe = self.filters.subscribe
        self.consumers.on_change.append(self._group_changed)
        self.locks = QueueLocks(clock, self.settings)
        self.stats = Stats(config.broker_cluster_name)
        self.pressure = Pressure(self.settings)
        self.acks = Acks(self.store, self.topics.saver)
        self.client = RemotingClient(ssl=self.tls.calling)
        self.inner_signer = InnerSigner(config.inner_user(), config.nameservers)
        self.client.hooks.append(self.inner_signer.sign)
        self.registration = Registration(self.settings, self.topics, self.mappings, self.client, self.roles)
        self.rules = RoleRules(self.settings, self.store, self.roles)

    def _add_processors(self) -> None:
        settings, store, clock = self.settings, self.store, self.clock
        unique_ids = UniqueIds(packed_host(self._host, 0)[:-4], clock.now_ms)
        self.cold = ColdReads(settings, store, clock)
        peers = BrokerPeers(settings, self.client, self.inner_signer)
        self.logical = LogicalRequests(self.mappings, self.table, peers, self.name)
        self.pulls = PullProcessors(
            settings, store, self.topics, self.groups, self.consumers, self.offsets, self.stats,
            MovedOffsets(store, clock), self.cold, self.mappings, self.logical, self.roles, self.rules.check_pull,
        )  # fmt: skip
        self.pulls.add_to(self.table)
        self.deletions = TopicDeletions(self.store)
        self.deletions.on_noted.append(self.pulls.long_polls.wake)
        self.queue_offsets = OffsetProcessors(store, self.topics, self.groups, self.offsets)
        self.queue_offsets.add_to(self.table)
        QueryProcessors(store).add_to(self.table)
        self.clients = ClientProcessors(settings, self.topics, self.groups, self.producers, self.consumers, clock)
        self.clients.add_to(self.table)
        LockProcessors(self.locks).add_to(self.table)
        self._add_logical_queues(peers)
        self.kinds = MessageKinds(self)
        self.metrics.sources.append(SpecialMessageFigures(self.stats, self.kinds))
        self.metrics.sources.append(Distributions(self.stats, self.table.times))
        self.sends = make_sends(self, unique_ids, self.logical, self.kinds.interceptors)
        self.sends.admission.gates.append(self.rules.check_send)
        self.sends.add_to(self.table)
        self.replication = Replication(self)
        auto_switch = self.replication.auto_switch
        self.controller_mode = None if auto_switch is None else ControllerMode(self, auto_switch)
        if self.controller_mode is not None:
            self.controller_mode.add_to(self.table)
        admin.register(self)
        self.rules.guard(self.table)
        self.roles.on_change.append(self._role_changed)
        self._jobs = BackgroundJobs(self)

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
        return format_address(config.broker_ip2 or self._host, self.replication.master.port)

    def adopt_topics(self) -> None:
        """Take up those that the log knows and the table does not."""
        self.tables.adopt_topics()

    def set_state_version(self, epoch: int) -> None:
        """A nameserver believes the newest master, whatever it heard before."""
        self.topics.set_state_version(epoch)

    def _role_changed(self, before: Standing, now: Standing) -> None:
        """What was granted to the one role is not granted to the other."""
        if (before.role, before.broker_id) != (now.role, now.broker_id):
            self.sends.admission.close()
            self.pulls.close_all()
            self.registration.soon()

    def _start_services(self) -> None:
        self.acks.start()
        self.pressure.start()
        self.kinds.start()
        self._jobs.start()

    def unready(self) -> list[str]:
        """Why clients should not be sent here now."""
        why = [] if self._started else ["starting or stopping"]
        if self.store.failure is not None:
            why.append(f"the store takes no messages: {self.store.failure}")
        if self.roles.current.role is Role.FENCED:
            why.append("fenced: no controller has given it a role, or not again in time")
        return why

    def refused(self) -> dict[str, int]:
        """How often each limit was met."""
        return {
            "waiting requests": self.pulls.long_polls.waiting.refused,
            "topics and groups by use": self.creations.refused,
            "groups of a heartbeat": self.clients.refused,
            "groups of a connection": self.producers.memberships.refused + self.consumers.memberships.refused,
            "subscriptions": self.consumers.refused,
            "locks": self.locks.refused,
            "SQL filters": self.filters.refused,
            "offsets": self.queue_offsets.refused,
            "metrics connections": self.exporter.refused,
        }

    def _group_changed(self, group: ConsumerGroup) -> None:
        if not group.members:
            self.filters.group_gone(group.name)

    def _accounts_changed(self) -> None:
        """Whoever waits for a message may no longer be allowed to: all are answered, and asked when they come again."""
        self.pulls.long_polls.wake_all()
        self.kinds.pops.polls.wake_all()

    # -- stop ---------------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Take leave of the nameservers, answer what waits, save, close. Safe to call twice."""
        if not self._started:
            return
        self._started = False
        if self.controller_mode is not None:
            await self.controller_mode.stop()
        await self.registration.stop()
        await self._close()
        events.info("broker stopped", broker=self.name)

    async def _close(self) -> None:
        self._jobs.stop()
        await self.exporter.stop()
        self.mapping_cleaner.stop()
        self.access.stop()
        self.tls.stop()
        self.server.stop_accepting()
        self.pulls.long_polls.wake_all()
        self.kinds.pops.polls.wake_all()
        await self.server.stop(_GRACE_SECONDS)
        await self.replication.stop()
        self.pulls.long_polls.woken.stop()
        await self.client.close()
        self.pressure.stop()
        settled = self.kinds.stop()
        self.acks.stop()
        if self.tables.save() and settled:
            self.store.close()
        else:  # the next start must look for what the tables do not know
            self.store.flusher.flush()
            self.store.abandon()
