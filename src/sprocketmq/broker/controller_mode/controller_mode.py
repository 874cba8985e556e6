"""The life of a broker under a controller.

    id -> register -> [no master lives: stand for election] -> master or slave -> heartbeats, looks, set changes

The role is the controller's to give: an answer counts when its master epoch is not below the one we know.
A look at the controller renews a master's lease, where the controller grants one (ours does, Java's does not). A master
whose lease has run out is fenced until it is renewed, or another is the master; unless everyone in sync follows it
still, for then nobody else can be the master: so a controller that is away stops no sends. Safety does not rest on it:
no put is promised that the in-sync set does not have (`broker/replication/in_sync_set.py`); the lease ends what an old
master could still do by itself, serve reads that are old, take offsets and deliver.

A disk that has not answered for a second is as good as dead: heartbeats and renewals stop until it does. Neither such a
master nor one that is fenced asks for another set: those who leave could be the only ones that can go on.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from sprocketmq.broker.controller_mode.controller_client import ControllerClient
from sprocketmq.broker.controller_mode.identity import FILE_NAME, BootNote, Identity
from sprocketmq.broker.controller_mode.sync_state import Reign, reign_in
from sprocketmq.broker.controller_mode.sync_state_changes import SyncStateChanges
from sprocketmq.broker.periodic import Periodic
from sprocketmq.broker.roles import MASTER_ID, Role, Standing
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConfigError, RequestRefused, SprocketError
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.controller_fields import LeaseFields, ReplicaFields
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.controller import (
    ElectMasterRequestHeader,
    GetReplicaInfoRequestHeader,
    RegisterBrokerToControllerRequestHeader,
)
from sprocketmq.protocol.headers.ha import ExchangeHAInfoResponseHeader
from sprocketmq.protocol.headers.nameserver import BrokerHeartbeatRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, Reply

if TYPE_CHECKING:
    from sprocketmq.broker.broker import Broker
    from sprocketmq.broker.replication.auto_switch import AutoSwitchReplication

events = Events("sprocketmq.broker.controller_mode")

LEASE_MS = 2000
BOOT_NOTE = "bootId"
#: This broker's id is another's, or nobody's: a controller of ours says so.
_NO_ID = frozenset({ResponseCode.CONTROLLER_BROKER_ID_INVALID, ResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED})
_FIRST_REST = 0.1
_LONGEST_REST = 1.0
_CALL_SECONDS = 1.0
#: A lease with less than this left should have been renewed: the replicas are asked whether they follow, so often.
_OVERDUE_SECONDS, _ASK_SECONDS = 0.8, 0.3
#: One that has said so no longer ago does. A master that has slept for longer does not know what it has missed.
_HEARD_SECONDS = 1.0


class ControllerMode:
    def __init__(self, broker: Broker, replication: AutoSwitchReplication) -> None:
        config, files, root = broker.settings.current, broker.files, broker.store.layout.root
        self.controllers = ControllerClient(broker.settings, broker.client)
        self._broker = broker
        self._replication = replication
        self._epoch = 0
        #: The epoch that this broker has begun as its master, and is the master of, or fenced.
        self._reigns_in: int | None = None
        self._leased_until: float | None = None
        self._looked_at = self._asked_at = 0.0
        self._goes_on = False
        path = Path(config.store_path_broker_identity or root / FILE_NAME)
        self._identity = Identity(
            files, path, config.broker_cluster_name, config.broker_name, self.controllers,
            lambda: f"{broker.address};{broker.clock.now_ms()}",
        )  # fmt: skip
        self._boot_note = BootNote(files, root / BOOT_NOTE)
        lost_power = self._boot_note.changed() and not broker.store.report.clean
        lost_log = files.exists(path) and not broker.store.log.max_offset  # or it never had one: then it loses nothing
        self._unclean_boot = lost_log or (lost_power and not broker.settings.store.sync_flush)
        self._set_changes = SyncStateChanges(replication.in_sync, self.controllers, config, self._lost_touch)
        self._set_changes.on_progress = replication.master.recount
        self._look_now = asyncio.Event()
        self._finding_log: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._beats = Periodic("heartbeats", lambda: config.broker_heartbeat_interval / 1000, self._beat)
        self._leases = Periodic("lease", lambda: 0.1, self._check_lease)

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, self.role_changed)

    # -- start and stop -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._tasks = [asyncio.ensure_future(self._live())]
        self._tasks[0].add_done_callback(_seen)

    async def stop(self) -> None:
        self._beats.stop()
        self._leases.stop()
        self._set_changes.stop()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.controllers.stop()

    async def _live(self) -> None:
        await self._take_first_role()
        self._leases.start()
        self._set_changes.start()
        while True:
            await self._rest()
            try:
                await self.controllers.look_for_leader()
                await self._look()
            except (SprocketError, OSError) as error:
                events.warning("controller does not answer", reason=error)
            except Exception as error:  # noqa: BLE001 - the edge of this task: without it no role would ever change
                events.error("what the controller said was not done", error)

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self._broker.settings.current.sync_broker_metadata_period / 1000):
                await self._look_now.wait()
        except TimeoutError:
            pass
        self._look_now.clear()

    async def _take_first_role(self) -> None:
        rest, told = _FIRST_REST, ""
        while True:
            try:
                await self._come_up()
                return
            except ConfigError:
                raise
            except (SprocketError, OSError) as error:
                if str(error) != told:
                    events.warning("has no role yet", reason=error)
                told = str(error)
            await asyncio.sleep(rest)
            rest = min(rest * 2, _LONGEST_REST)

    # -- a role -------------------------------------------------------------------------------------------------------

    async def _come_up(self) -> None:
        self._replication.broker_id = await self._identity.broker_id()
        if not self._unclean_boot:  # who may have lost its tail says so before it is heard of: it could be elected
            self._begin_beats()
        reign = reign_in(await self._register())
        self._unclean_boot = False  # it was told; a start that ends before that is told of by the next
        await self._boot_note.write()
        self._begin_beats()
        if reign is None:
            self._beat()
            reign = await self._elect()
        await self._obey(reign)

    def _begin_beats(self) -> None:
        if not self._beats.running:
            self._beats.start()
            self._beat()  # a master that lets us in at once must find us alive

    async def _register(self) -> Command:
        config = self._broker.settings.current
        header = RegisterBrokerToControllerRequestHeader(
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
            broker_id=self._replication.broker_id,
            broker_address=self._broker.address,
            invoke_time=self._broker.clock.now_ms(),
        )
        own = ReplicaFields(
            broker_ha_address=self._broker.registration.ha_address,
            unclean_boot=self._unclean_boot,
            epoch=self._last_epoch,
            max_offset=self._broker.store.log.max_offset,
        )
        return await self.controllers.demand(RequestCode.CONTROLLER_REGISTER_BROKER, header, own)

    async def _elect(self) -> Reign:
        config = self._broker.settings.current
        header = ElectMasterRequestHeader(
            cluster_name=config.broker_cluster_name,
            broker_name=config.broker_name,
            broker_id=self._replication.broker_id,
            designate_elect=False,
            invoke_time=self._broker.clock.now_ms(),
        )
        answer = await self.controllers.ask(RequestCode.CONTROLLER_ELECT_MASTER, header)
        reign = reign_in(answer)
        if answer.code not in (ResponseCode.SUCCESS, ResponseCode.CONTROLLER_MASTER_STILL_EXIST) or reign is None:
            raise RequestRefused(answer.code, answer.remark or "nobody can be elected")
        return reign

    async def _look(self) -> None:
        """Who is the master? The answer renews our lease, if we are, and the disk answers."""
        began = asyncio.get_running_loop().time()
        lease = LeaseFields(
            broker_id=self._replication.broker_id,
            address=self._broker.address,
            lease_millis=LEASE_MS if self._broker.store.disk_answers() else 0,
        )
        header = GetReplicaInfoRequestHeader(broker_name=self._broker.name)
        try:
            answer = await self.controllers.demand(RequestCode.CONTROLLER_GET_REPLICA_INFO, header, lease)
        except RequestRefused as error:
            if error.code not in _NO_ID:
                raise
            await self._begin_again(error)
            return
        reign = reign_in(answer)
        if reign is None:
            await self._come_up()
            return
        if reign.master_id == self._replication.broker_id:
            if not self._broker.store.disk_answers():
                return  # and be fenced when the lease ends
            if reign.lease_ms:
                self._leased_until = began + reign.lease_ms / 1000
                self._goes_on = False
        await self._obey(reign)

    async def _begin_again(self, reason: RequestRefused) -> None:
        """Take nothing and confirm nothing until a controller knows this broker by its id."""
        events.error("has lost its id", reason=reason)
        self._leased_until = self._reigns_in = None
        self._fence()
        await self._take_first_role()

    def role_changed(self, _connection: Connection, request: Command) -> Reply:
        """The controller's notice of an election. Anyone could send it, so it is a reason to ask, and nothing more."""
        self._look_now.set()
        return None if request.is_oneway else request.reply()

    async def _obey(self, reign: Reign) -> None:
        if reign.epoch < self._epoch:
            return
        if reign.master_id == self._replication.broker_id:
            await self._be_master(reign)
        else:
            self._be_slave(reign)

    async def _be_master(self, reign: Reign) -> None:
        current = self._broker.roles.current
        if reign.epoch != self._reigns_in:
            await self._begin_reign(reign)
        else:
            self._replication.in_sync.adopt(reign.members, reign.set_epoch)
            if not current.is_master:
                self._replication.in_sync.resume()
        self._become(Standing(role=Role.MASTER, broker_id=MASTER_ID, epoch=reign.epoch, synchronous=True))
        if not current.is_master:
            self._broker.adopt_topics()
        self._set_changes.reign(reign.epoch)

    async def _begin_reign(self, reign: Reign) -> None:
        """Until its epoch is on disk it copies nothing and takes nothing: the epoch begins where the log ends."""
        self._epoch, self._reigns_in = reign.epoch, None
        self._leased_until = None
        self._fence()
        await self._replication.lead(reign.epoch, reign.members, reign.set_epoch)
        self._reigns_in = reign.epoch
        self._look_now.set()  # for a lease; and where the disk was slow, another may reign already
        self._broker.set_state_version(reign.epoch)
        events.info("is the master", epoch=reign.epoch, log_end=self._broker.store.log.max_offset)

    def _fence(self) -> None:
        """Its replicas are let go, so that it must not ask to be the only one in the set."""
        current = self._broker.roles.current
        self._set_changes.reign(None)
        self._become(Standing(role=Role.FENCED, broker_id=current.broker_id, epoch=current.epoch))

    def _be_slave(self, reign: Reign) -> None:
        current = self._broker.roles.current
        self._set_changes.reign(None)
        self._leased_until = self._reigns_in = None
        same = current.is_slave and current.epoch == reign.epoch and current.master_address == reign.master_address
        if not same:
            self._epoch = reign.epoch
            self._broker.set_state_version(reign.epoch)
            events.info("is a slave", epoch=reign.epoch, master=reign.master_address)
        self._become(
            Standing(
                role=Role.SLAVE, broker_id=self._replication.broker_id, epoch=reign.epoch,
                master_address=reign.master_address,
                ha_address=reign.ha_address or (current.ha_address if same else ""),
            )
        )  # fmt: skip
        if not self._broker.roles.current.ha_address:
            self._start_finding_log(reign, anew=not same)

    def _become(self, standing: Standing) -> None:
        self._broker.roles.become(standing)

    def _start_finding_log(self, reign: Reign, *, anew: bool) -> None:
        """Once for each reign: a master that is not reached for an hour is looked at 3,600 times."""
        if self._finding_log is not None and not self._finding_log.done():
            if not anew:
                return
            self._finding_log.cancel()
        task = self._finding_log = asyncio.ensure_future(self._find_log(reign))
        self._tasks.append(task)
        task.add_done_callback(_seen)
        task.add_done_callback(lambda done: self._tasks.remove(done) if done in self._tasks else None)

    async def _find_log(self, reign: Reign) -> None:
        """Ask the master itself where it gives its log: Java's controller does not know, nameservers may be late."""
        while True:
            current = self._broker.roles.current
            if current.epoch != reign.epoch or not current.is_slave or current.ha_address:
                return
            try:
                request = Command(RequestCode.EXCHANGE_BROKER_HA_INFO)
                answer = await self._broker.client.call(reign.master_address, request, _CALL_SECONDS)
                told = from_ext_fields(ExchangeHAInfoResponseHeader, answer.ext_fields or {})
                if told.master_ha_address:
                    self._broker.roles.follow(None, told.master_ha_address)
                    return
            except SprocketError as error:
                events.debug("master does not tell where its log is", master=reign.master_address, reason=error)
            await asyncio.sleep(_FIRST_REST)

    @property
    def _last_epoch(self) -> int:
        """Of what is in the log here."""
        last = self._replication.epochs.list.last
        return last.epoch if last else 0

    # -- liveness -----------------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        if self._broker.store.has_failed():
            self._boot_note.spoil()
        if not self._broker.store.disk_answers() or self._replication.epochs.hangs():
            return
        broker, config = self._broker, self._broker.settings.current
        heartbeat = BrokerHeartbeatRequestHeader(
            cluster_name=config.broker_cluster_name,
            broker_addr=broker.address,
            broker_name=config.broker_name,
            broker_id=self._replication.broker_id,
            epoch=self._last_epoch,
            max_offset=broker.store.log.max_offset,
            confirm_offset=min(broker.store.readable.offset, broker.store.log.max_offset),
            heartbeat_timeout_mills=config.controller_heart_beat_timeout_mills,
            election_priority=config.broker_election_priority,
        )
        self.controllers.beat(heartbeat)

    def _check_lease(self) -> None:
        """A master whose lease has run out is none, until the controller says so again or as long as all follow it."""
        current, now = self._broker.roles.current, asyncio.get_running_loop().time()
        has_slept, self._looked_at = now - self._looked_at > _HEARD_SECONDS, now
        if self._leased_until is None or not current.is_master or now < self._leased_until - _OVERDUE_SECONDS:
            return
        in_sync = self._replication.in_sync
        if now - self._asked_at >= _ASK_SECONDS:
            self._asked_at = now
            in_sync.ask_all()
        if now <= self._leased_until:
            return
        is_sole = not has_slept and in_sync.is_followed_by_all(_HEARD_SECONDS)
        if is_sole and self._broker.store.disk_answers():
            if not self._goes_on:
                events.warning("lease not renewed; goes on while all in sync follow", epoch=current.epoch)
            self._goes_on = True
            return
        events.warning("lease not renewed; fenced", epoch=current.epoch)
        self._fence()
        self._look_now.set()

    def _lost_touch(self) -> None:
        """The controller refused a set: it may be that another is the master."""
        self._look_now.set()


def _seen(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        events.error("the controller's client has ended", task.exception())
