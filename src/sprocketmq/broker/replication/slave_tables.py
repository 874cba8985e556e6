"""A slave's copies of its master's tables: topics, groups, offsets, delays, timers, request modes.

    our master       asked for versions every second; a table that has changed is fetched
    Java's master    all tables, every ten seconds: it has no versions to ask for

A table is applied by its differences, so nothing is ever missing in between. What groups have consumed, what was
delivered and which topics were deleted counts only together with the log: it waits until the slave has the log of the
moment when it was read.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Mapping
from functools import partial

from sprocketmq.broker.delay.levels import Schedule
from sprocketmq.broker.delay.timer import Timer
from sprocketmq.broker.pop.assignment import Assignments
from sprocketmq.broker.pop.popped_offsets import PoppedOffsets
from sprocketmq.broker.replication.master_tables import LOG_END, versions_in
from sprocketmq.broker.roles import Roles
from sprocketmq.broker.static_topic.mappings import QueueMappings
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.topic_deletions import TopicDeletions
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import SprocketError
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from sprocketmq.protocol.bodies.pop import MessageRequestModeSerializeWrapper
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import RemotingClient
from sprocketmq.store.files.config_files import SubscriptionGroups
from sprocketmq.store.files.deleted_topics import Deletion
from sprocketmq.store.store import MessageStore
from sprocketmq.store.timer.log import decode_timer_check

events = Events("sprocketmq.broker.replication")

_PERIOD_SECONDS = 1.0
_JAVA_PERIOD_SECONDS = 10.0
_CALL_SECONDS = 5.0
#: So often is looked whether the log has come as far as a table; then the table is fetched again.
_LOG_LOOKS = 100
_LOG_LOOK_SECONDS = 0.02

_CODES: dict[str, int] = {
    "topics": RequestCode.GET_ALL_TOPIC_CONFIG,
    "groups": RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    "modes": RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
    "offsets": RequestCode.GET_ALL_CONSUMER_OFFSET,
    "delays": RequestCode.GET_ALL_DELAY_OFFSET,
    "timers": RequestCode.GET_TIMER_CHECK_POINT,
}
#: Beside the tables: what is being deleted after the master.
_DELETIONS = "deletions"
#: These may not be ahead of the log.
_WITH_LOG = frozenset({"offsets", "delays", "timers"})
#: Of a master that is away, or says what cannot be read; of a disk.
_EXPECTED = (SprocketError, OSError, ValueError, struct.error)


class SlaveTables:
    def __init__(
        self, roles: Roles, store: MessageStore, client: RemotingClient, topics: TopicTable, groups: GroupTable,
        offsets: ConsumerOffsets, mappings: QueueMappings, schedule: Schedule, timer: Timer, assignments: Assignments,
        deletions: TopicDeletions, popped: PoppedOffsets,
    ) -> None:  # fmt: skip
        self._roles = roles
        self._store = store
        self._client = client
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._mappings = mappings
        self._schedule = schedule
        self._timer = timer
        self._assignments = assignments
        self._deletions = deletions
        self._popped = popped
        self._told_offsets: Mapping[str, Mapping[int, int]] = {}
        self._seen: dict[str, str] = {}
        self._told_deletions: dict[str, Deletion] = {}
        self._failing = False
        #: Tables without a saver of their own, and deletions, while they are written: they hold up no other.
        self._keeping: dict[str, asyncio.Future[None]] = {}
        self._apply: dict[str, Callable[[bytes], asyncio.Future[None] | None]] = {
            "topics": self._take_topics, "groups": self._take_groups, "modes": self._take_modes,
            "offsets": self._take_offsets, "delays": self._take_delays, "timers": self._take_timers,
        }  # fmt: skip

    async def run(self) -> None:
        """Until cancelled, for a broker that is a slave."""
        self._seen.clear()
        self._keeping.clear()
        self._told_offsets = {}
        try:
            while True:
                pause = await self._look()
                await asyncio.sleep(pause)
        finally:
            if (following := self._keeping.pop(_DELETIONS, None)) is not None:
                following.cancel()

    async def _look(self) -> float:
        """The seconds until the next."""
        address = self._roles.current.master_address
        if not address:
            return _PERIOD_SECONDS
        try:
            pause = await self._round(address)
        except _EXPECTED as error:
            self._failed(address, error)
            return _PERIOD_SECONDS
        self._failing = False
        return pause

    def _failed(self, address: str, error: BaseException) -> None:
        if not isinstance(error, _EXPECTED):
            events.error("tables of the master not kept", error, master=address)
        elif not self._failing:
            events.warning("tables of the master not read", master=address, reason=error)
        self._failing = True

    async def _round(self, address: str) -> float:
        """One look at the master; the seconds until the next."""
        popped_end = self._popped.end
        told = versions_in(await self._ask(address))
        versions = dict.fromkeys(_CODES, "") if told is None else told
        changed = [name for name in _CODES if told is None or self._is_old(name, versions.get(name, ""))]
        changed = [name for name in changed if name not in self._keeping]
        bodies = {name: await self._fetch(address, code) for name, code in _CODES.items() if name in changed}
        self._take({name: body for name, body in bodies.items() if name not in _WITH_LOG}, versions)
        late = {name: body for name, body in bodies.items() if name in _WITH_LOG}
        missing = {} if _DELETIONS in self._keeping else self._deletions.missing(self._told_deletions)
        if (late or missing) and (told is None or await self._has_log(address)):
            self._take(late, versions)
            late = {}
            if told is not None and missing:
                self._keep(_DELETIONS, "", asyncio.ensure_future(self._deletions.follow(missing)))
        if "offsets" not in late:
            self._popped.know(popped_end)
        return _JAVA_PERIOD_SECONDS if told is None else _PERIOD_SECONDS

    def _take(self, bodies: Mapping[str, bytes | None], versions: Mapping[str, str]) -> None:
        for name, body in bodies.items():
            version = versions.get(name, "")
            keeping = None if body is None else self._apply[name](body)
            if keeping is None:
                self._seen[name] = version
            else:
                self._keep(name, version, keeping)

    def _keep(self, name: str, version: str, keeping: asyncio.Future[None]) -> None:
        self._keeping[name] = keeping
        keeping.add_done_callback(partial(self._kept, name, version))

    def _kept(self, name: str, version: str, keeping: asyncio.Future[None]) -> None:
        """It counts as taken over once it is on disk; else it is fetched again."""
        if self._keeping.get(name) is not keeping:
            return  # of another master
        del self._keeping[name]
        if keeping.cancelled():
            return
        error = keeping.exception()
        if error is None:
            self._seen[name] = version
        else:
            self._failed(self._roles.current.master_address, error)

    def _is_old(self, name: str, version: str) -> bool:
        """Whether the master's table has changed, or ours has: an administrator may have changed the wrong one."""
        own = {"topics": self._topics.data_version, "groups": self._groups.data_version}.get(name)
        if own is not None:
            text = f"{own.state_version}.{own.timestamp}.{own.counter}"
            if not f"{version}.".startswith(f"{text}."):
                return True
        return self._seen.get(name) != version

    async def _ask(self, address: str) -> Mapping[str, str]:
        """What the master tells of itself; a RocketMQ of before 5 does not know the question."""
        answer = await self._client.call(address, Command(RequestCode.EXCHANGE_BROKER_HA_INFO), _CALL_SECONDS)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return {}
        _check(answer, RequestCode.EXCHANGE_BROKER_HA_INFO)
        return answer.ext_fields or {}

    async def _fetch(self, address: str, code: int) -> bytes | None:
        """None of a master that has no such table."""
        answer = await self._client.call(address, Command(code), _CALL_SECONDS)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED or (not answer.body and code != _CODES["topics"]):
            return None
        _check(answer, code)
        return bytes(answer.body)

    async def _has_log(self, address: str) -> bool:
        """Whether the log here comes as far as it is at the master now."""
        end = int((await self._ask(address)).get(LOG_END, 0))
        for _ in range(_LOG_LOOKS):
            if self._store.dispatcher.dispatched_offset >= end:
                return True
            await asyncio.sleep(_LOG_LOOK_SECONDS)
        return False

    # -- taking over --------------------------------------------------------------------------------------------------

    def _take_topics(self, body: bytes) -> None:
        told = codec.decode(TopicConfigAndMappingSerializeWrapper, body)
        self._topics.inherit(told.topic_config_table, told.data_version)
        self._mappings.inherit(told.topic_queue_mapping_detail_map, told.mapping_data_version)
        self._told_deletions = {topic: Deletion(*at) for topic, at in told.deleted_topics.items()}

    def _take_groups(self, body: bytes) -> None:
        told = codec.decode(SubscriptionGroups, body)
        self._groups.inherit(told.subscription_group_table, told.forbidden_table, told.data_version)

    def _take_modes(self, body: bytes) -> None:
        self._assignments.inherit(codec.decode(MessageRequestModeSerializeWrapper, body))

    def _take_offsets(self, body: bytes) -> None:
        told = codec.decode(ConsumerOffsetSerializeWrapper, body).offset_table
        self._offsets.inherit(self._told_offsets, told)
        self._told_offsets = told

    def _take_delays(self, body: bytes) -> None:
        self._schedule.inherit(codec.decode(DelayOffsetSerializeWrapper, body).offset_table)

    def _take_timers(self, body: bytes) -> asyncio.Future[None]:
        return self._timer.files.inherit(decode_timer_check(body))


def _check(answer: Command, code: int) -> None:
    if answer.code != ResponseCode.SUCCESS:
        raise SprocketError(f"request {code} is answered {answer.code}: {answer.remark}")
