"""The controller process: its engine, its view of who lives, its listening socket, and the elections it begins itself.

An election begins when a master is missed: its connection closed and it cannot be reached, its heartbeats stopped, or
a look at all sets finds one without a living master. A controller that does not lead keeps its view of who lives and
elects nobody; brokers learn from it who leads.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Coroutine
from functools import partial
from typing import Any, cast

from sprocketmq.auth.wiring import Access
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.controller import elections, probes, rules
from sprocketmq.controller.audited_state import controller_looks
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.broker_sets import BrokerSets
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.decisions import Living, Outcome, ReplicaStanding, Rule
from sprocketmq.controller.engines import Engine, EngineFailed, Member, NotLeading
from sprocketmq.controller.figures import figures
from sprocketmq.controller.liveness import MAX_LEASE_MS, Clock, LiveIdentity, Liveness
from sprocketmq.controller.processors import Processors
from sprocketmq.controller.role_notices import Notices
from sprocketmq.errors import RequestRefused, SprocketError
from sprocketmq.logs import Events
from sprocketmq.metrics.exporter import Exporter
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.controller_fields import LeaseFields
from sprocketmq.protocol.headers.controller import GetMetaDataResponseHeader
from sprocketmq.protocol.headers.nameserver import BrokerHeartbeatRequestHeader
from sprocketmq.remoting import Connection, ProcessorTable, RemotingClient, RemotingServer
from sprocketmq.remoting.answer_times import AnswerTimes
from sprocketmq.remoting.body_limits import limit_bodies
from sprocketmq.remoting.peer import format_address
from sprocketmq.remoting.running_settings import RunningSettings
from sprocketmq.remoting.tls import TlsService

events = Events("sprocketmq.controller.server")

#: Between tries to take part in the contest for leadership, when the engine does not answer.
_CONTEST_PAUSE = 1.0
#: Who starts a controller is told that it is ready when it knows who leads, or after so long.
_FIRST_NEWS = 5.0


class Controller:
    def __init__(self, config: ControllerConfig, engine: Engine, *, clock: Clock = time.monotonic) -> None:
        self.settings = RunningSettings(config, config.config_store_path, events)
        self.liveness = Liveness(clock)
        self.sets = BrokerSets(engine, self._living)
        self.leader: Member | None = None
        self.is_leader = False
        self.elections: dict[str, int] = {}
        self._tls = TlsService.of(config)
        self._client = RemotingClient(ssl=self._tls.calling, connect_timeout=1.0)
        self.notices = Notices(self._client)
        self._engine = engine
        self._clock = clock
        self._table = ProcessorTable()
        Processors(self).add_to(self._table)
        self.access = Access(config, config.config_store_path.parent, "DefaultCluster")
        self.access.audit.looks |= controller_looks(self)
        self.access.guard(self._table)
        self._server = RemotingServer(
            self._table, config.bind_address, config.port_to_bind, config.limits(), self._tls.server, config.proxies()
        )
        limit_bodies(self._table, config, self._server.connections.refused)
        self._server.connections.is_exempt = config.broker_access().allows
        self.exporter = Exporter(config, lambda: figures(self), self.unready)
        self._contest: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._informed = asyncio.Event()
        self._expiry: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None

    # -- life -----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return "controller"

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def address(self) -> str:
        return self._server.address

    @property
    def answer_times(self) -> AnswerTimes:
        return self._table.times

    @property
    def member(self) -> Member:
        """This controller as its peers and brokers know it."""
        config = self.settings.current
        host = "127.0.0.1" if config.bind_address == "0.0.0.0" else config.bind_address
        return config.members().get(config.self_id) or Member(config.self_id, format_address(host, self.port))

    def codes(self) -> frozenset[int]:
        """The requests it serves."""
        return self._table.codes()

    async def start(self) -> None:
        """Listen, and take part in the contest for leadership. A state that cannot be read is an error here."""
        self.access.open()
        self.settings.load()
        await self._engine.start()
        await self._server.start()
        self._tls.start()
        self.access.start()
        self._expire()
        await self.exporter.start()
        self._contest = asyncio.ensure_future(self._compete())
        events.info("controller started", address=self.address, id=self.member.member_id)
        await asyncio.wait({asyncio.ensure_future(self._informed.wait())}, timeout=_FIRST_NEWS)

    async def stop(self) -> None:
        for timer in (self._expiry, self._look):
            if timer is not None:
                timer.cancel()
        tasks = [*self._tasks, *([self._contest] if self._contest is not None else [])]
        self._step_down()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._engine.stop()
        self._tls.stop()
        self.access.stop()
        await self.exporter.stop()
        await self._server.stop()
        await self.notices.stop()
        await self._client.close()
        events.info("controller stopped", address=self.address)

    def unready(self) -> list[str]:
        """Why brokers should not ask here now."""
        return [] if self.leader is not None else ["no controller leads"]

    # -- leadership -----------------------------------------------------------------------------------------------

    async def _compete(self) -> None:
        while True:
            try:
                contest = cast(AsyncGenerator[Member | None, None], self._engine.lead(self.member))
                async with contextlib.aclosing(contest) as changes:
                    async for leader in changes:
                        await self._led_by(leader)
                        self._informed.set()
            except SprocketError as error:
                events.error("contest for leadership failed", reason=error)
            except Exception as error:  # noqa: BLE001 - the edge of this task: without it nobody would lead again
                events.error("contest for leadership failed", error)
            self._step_down()
            await asyncio.sleep(_CONTEST_PAUSE)

    async def _led_by(self, leader: Member | None) -> None:
        self.leader = leader
        if leader != self.member:
            self._step_down(leader)
            events.info("controller follows", leader="nobody" if leader is None else leader.member_id)
            return
        await self.sets.reload()
        self.is_leader = True
        events.info("controller leads", id=self.member.member_id, sets=len(self.sets))
        for record in self.sets:  # what this controller saw end while another led, or nobody
            if record.master is not None and self.liveness.saw_end_of(_identity(record, record.master)):
                self.look_for_master(record.name)
            else:
                self._start(self._look_at_unheard(record))
        # Others may still have a lease of an earlier leader, or have had no time to be heard of.
        patience = max(self.settings.current.scan_inactive_master_interval, MAX_LEASE_MS) / 1000
        self._look = asyncio.get_running_loop().call_later(patience, self._look_at_all)

    def _step_down(self, leader: Member | None = None) -> None:
        self.is_leader = False
        self.leader = leader
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def metadata(self) -> GetMetaDataResponseHeader:
        config, own = self.settings.current, self.member
        peers = config.members().values() or (own,)
        return GetMetaDataResponseHeader(
            group=config.controller_group,
            controller_leader_id=None if self.leader is None else self.leader.member_id,
            controller_leader_address=None if self.leader is None else self.leader.address,
            is_leader=self.is_leader,
            peers="".join(f"{each.member_id}:{each.address};" for each in peers),
        )

    # -- who lives ------------------------------------------------------------------------------------------------

    def heard(
        self,
        identity: LiveIdentity,
        said: BrokerHeartbeatRequestHeader,
        standing: ReplicaStanding,
        connection: Connection,
    ) -> None:
        is_new = self.liveness.heartbeat(
            identity,
            connection,
            timeout_ms=said.heartbeat_timeout_mills,
            standing=standing,
            confirm_offset=-1 if said.confirm_offset is None else said.confirm_offset,
        )
        if self._closed not in connection.on_closed:
            connection.on_closed.append(self._closed)
        if is_new:
            events.info("broker lives", broker=identity.name, id=identity.broker_id, address=identity.address)
            self._expire()
        record = self.sets.get(identity.name)
        is_replica = record is not None and identity == _identity(record, identity.broker_id)
        if is_replica and self.is_leader and self.liveness.has_lost(identity, standing.epoch, standing.max_offset):
            self._start(self._distrust(identity))
        if is_new and is_replica and self.is_leader and record is not None:
            self._start(self._look_at_unheard(record))

    def lease(self, name: str, asked: LeaseFields) -> int | None:
        """The milliseconds that were granted: to the master alone, and only as long as it lives."""
        record = self.sets.get(name)
        if record is None or asked.broker_id is None or asked.broker_id != record.master or asked.lease_millis is None:
            return None
        granted = self.liveness.lease(_identity(record, asked.broker_id), asked.lease_millis)
        return asked.lease_millis if granted else None

    def _living(self, record: BrokerSet) -> Living:
        return self.liveness.living(record.cluster, record.name, record.addresses)

    async def _distrust(self, identity: LiveIdentity) -> None:
        """Take a replica out of its set that has lost what it confirmed. Until that is done nobody elects it."""
        try:
            await self.change(identity.name, partial(rules.distrust, broker_id=identity.broker_id))
        except RequestRefused as error:
            events.error("in-sync set not changed", broker=identity.name, reason=error.remark)
        else:
            self.distrusted(identity)

    def distrusted(self, identity: LiveIdentity) -> None:
        """It may have been the master."""
        events.warning("replica has lost what it had", broker=identity.name, id=identity.broker_id)
        self.liveness.forgive(identity)
        self.look_for_master(identity.name)

    def _closed(self, connection: Connection) -> None:
        for identity in self.liveness.suspects(connection):
            self._start(self._confirm_end(identity, connection))

    async def _confirm_end(self, identity: LiveIdentity, connection: Connection) -> None:
        if await probes.is_reachable(identity.address):
            return  # if it does not speak again it is missed in time
        if self.liveness.gone(identity, connection):
            self._gone(identity, "its connection closed and it takes no other")

    async def _look_at_unheard(self, record: BrokerSet) -> None:
        """A master that this controller has not heard may have the lease of another one, unless its process is gone."""
        master = _identity(record, record.master or 0)
        if record.master is None or not elections.candidates(record, self._living(record)):
            return  # nobody who has all that was promised is heard either
        if not self.liveness.lives(master) and await probes.refuses(master.address):
            events.warning("broker gone", broker=record.name, id=record.master, reason="its address is nobody's")
            self.look_for_master(record.name)

    def _expire(self) -> None:
        """Miss those that are due, and come again when the next one is."""
        if self._expiry is not None:
            self._expiry.cancel()
        pause = self.settings.current.scan_not_active_broker_interval / 1000
        try:
            for identity in self.liveness.expire():
                self._gone(identity, "silent")
            if (due := self.liveness.next_expiry()) is not None:
                pause = min(pause, max(due - self._clock(), 0) + 0.005)
        finally:  # whatever fails, the next round comes
            self._expiry = asyncio.get_running_loop().call_later(pause, self._expire)

    def _gone(self, identity: LiveIdentity, reason: str) -> None:
        events.warning("broker gone", broker=identity.name, id=identity.broker_id, reason=reason)
        record = self.sets.get(identity.name)
        if record is not None and _identity(record, record.master or 0) == identity:
            self.look_for_master(identity.name)

    # -- elections ------------------------------------------------------------------------------------------------

    async def change(self, name: str, rule: Rule) -> Outcome:
        """Change a set, and tell its brokers when that was an election."""
        try:
            outcome = await self.sets.change(name, rule, self.settings.current.elect_master_max_retry_count)
        except NotLeading:
            self._step_down()
            raise RequestRefused(ResponseCode.CONTROLLER_NOT_LEADER, "The controller is not in leader state") from None
        except EngineFailed as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"the state could not be kept: {error}") from None
        if outcome.elected and outcome.record is not None:
            self._elected(outcome.record)
        return outcome

    def look_for_master(self, name: str) -> None:
        """Elect one for this set, if it needs one and this controller leads."""
        if self.is_leader:
            self._start(self._elect(name))

    async def _elect(self, name: str) -> None:
        unclean = self.settings.current.enable_elect_unclean_master
        rule = partial(elections.by_controller, unclean=unclean, doubted=await self.doubted(name))
        try:
            outcome = await self.change(name, rule)
        except RequestRefused as error:
            events.error("election failed", broker=name, reason=error.remark)
            return
        if not outcome.elected and outcome.answer.code != ResponseCode.CONTROLLER_MASTER_STILL_EXIST:
            self._count("no_master_elected")
            events.error("no master elected", broker=name, reason=outcome.answer.remark)

    async def doubted(self, name: str) -> frozenset[int]:
        """Who would be elected and does not answer: one that was lost in the same moment as the master, or hangs, is
        not missed yet. Elected, it would be alone in the set, and nobody else could go on.
        """
        record, unclean = self.sets.get(name), self.settings.current.enable_elect_unclean_master
        if record is None or not elections.needs_master(record, living := self._living(record), unclean=unclean):
            return frozenset()
        best_first = elections.candidates(record, living, unclean=unclean)
        if len(best_first) == 1:
            return frozenset()
        asked = {each: asyncio.ensure_future(self._answers(record.addresses[each])) for each in best_first}
        silent: set[int] = set()
        try:
            for each in best_first:
                if await asked[each]:
                    break
                silent.add(each)
        finally:
            for answer in asked.values():
                answer.cancel()
        return frozenset(silent)

    async def _answers(self, address: str) -> bool:
        """Whatever it says."""
        try:
            await self._client.call(address, Command(RequestCode.EXCHANGE_BROKER_HA_INFO), probes.RECONNECT_SECONDS)
        except SprocketError:
            return False
        return True

    def _elected(self, record: BrokerSet) -> None:
        self._count("new_master_elected")
        events.warning("master elected", broker=record.name, id=record.master, epoch=record.master_epoch)
        if self.settings.current.notify_broker_role_changed:
            self.notices.send(record, self._living(record))

    def _look_at_all(self) -> None:
        pause = self.settings.current.scan_inactive_master_interval / 1000
        self._look = asyncio.get_running_loop().call_later(pause, self._look_at_all)  # whatever fails below
        if self.sets.failures:  # a change that was given up for lost may have been kept later
            self._start(self._read_anew())
        unclean = self.settings.current.enable_elect_unclean_master
        for record in self.sets:
            if elections.needs_master(record, self._living(record), unclean=unclean):
                self.look_for_master(record.name)

    async def _read_anew(self) -> None:
        try:
            await self.sets.reload()
        except EngineFailed as error:
            events.warning("engine failed", reason=error)

    def _count(self, result: str) -> None:
        self.elections[result] = self.elections.get(result, 0) + 1

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            events.error("task failed", error)


def _identity(record: BrokerSet, broker_id: int) -> LiveIdentity:
    return LiveIdentity(record.cluster, record.name, broker_id, record.addresses.get(broker_id, ""))
