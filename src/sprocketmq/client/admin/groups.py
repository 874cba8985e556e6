"""Consumer groups: who is in them, how far they are, and their configuration."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from sprocketmq.client.admin.core import AdminCore, one_target
from sprocketmq.client.errors import InvalidMessage, Refused
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol import bodies, headers
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.connections import ConsumerConnection
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import group_fault, is_retry_topic, is_system_group

NOBODY = ConsumerConnection()


@dataclass(frozen=True, slots=True)
class QueueLag:
    """How far a group is in one queue. `owner` is the client that has the queue now, when that was asked for."""

    queue: MessageQueue
    broker_offset: int
    consumer_offset: int
    last_consumed_ms: int | None
    owner: str | None = None
    pull_offset: int | None = None

    @property
    def lag(self) -> int:
        """Messages that the group has not consumed."""
        return max(self.broker_offset - self.consumer_offset, 0)

    @property
    def in_flight(self) -> int:
        """Messages that consumers have, and have not consumed."""
        return max((self.pull_offset or 0) - self.consumer_offset, 0)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a group is in all of its queues, and how many messages a second it consumes."""

    rate: float
    queues: list[QueueLag]

    @property
    def lag(self) -> int:
        return sum(row.lag for row in self.queues)


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Who is in a group, and how far it is. One that has consumed nothing has no progress, and that is no fault."""

    members: ConsumerConnection
    progress: Progress

    @property
    def topics(self) -> list[str]:
        consumed = {row.queue.topic for row in self.progress.queues}
        return sorted(name for name in consumed | set(self.members.subscription_table) if not is_retry_topic(name))

    @property
    def uncommitted(self) -> list[str]:
        """Topics that members subscribe to, and of which no broker knows an offset: nobody can tell their lag.

        So it is while a consumer hangs in its first messages, and with broadcasting, whose offsets clients keep.
        """
        committed = {row.queue.topic for row in self.progress.queues}
        return [name for name in self.topics if name not in committed]

    @property
    def lag(self) -> int | None:
        """None when it is not known, which is not zero."""
        if not self.progress.queues or (self.uncommitted and not self.progress.lag):
            return None
        return self.progress.lag

    @property
    def in_flight(self) -> int:
        return sum(row.in_flight for row in self.progress.queues)


class Groups:
    def __init__(self, core: AdminCore) -> None:
        self._core = core

    async def names(self, *, everything: bool = False) -> list[str]:
        """The groups that brokers know; with `everything` also RocketMQ's own."""
        tables = await self._core.each(await self._core.masters(), self._configs)
        names = {name for table in tables.values() for name in table}
        kept = names if everything else {name for name in names if not is_system_group(name)}
        return self._core.inside(kept)

    async def config(self, group: str) -> dict[str, bodies.group.SubscriptionGroupConfig]:
        """Its configuration on each broker that has one."""
        tables = await self._core.each(await self._core.masters(), self._configs)
        full = self._core.name(group)
        found = {broker: table[full] for broker, table in tables.items() if full in table}
        if not found:
            raise Refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"no broker knows group {group}")
        return found

    async def create(
        self, config: bodies.group.SubscriptionGroupConfig, *, cluster: str | None = None, broker: str | None = None
    ) -> list[str]:
        """Make the group, or change it, on every master. Returns the brokers."""
        one_target(cluster, broker)
        if (fault := group_fault(config.group_name)) is not None:
            raise InvalidMessage(fault)
        masters = await self._core.masters(cluster, broker)
        body = codec.encode(config)
        await self._core.each(
            masters,
            lambda address: self._core.call(address, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body),
        )
        return list(masters)

    async def delete(self, group: str, *, clean_offsets: bool = False) -> list[str]:
        """Remove the group from every master, with `clean_offsets` also what it had committed."""
        masters = await self._core.masters()
        header = headers.group.DeleteSubscriptionGroupRequestHeader(
            group_name=self._core.name(group), clean_offset=clean_offsets
        )
        await self._core.each(
            masters, lambda address: self._core.call(address, RequestCode.DELETE_SUBSCRIPTIONGROUP, header)
        )
        return list(masters)

    async def lag(self, group: str, topic: str | None = None, *, owners: bool = False) -> list[QueueLag]:
        """How far the group is in every queue it consumes. Raises Refused when no broker knows of any."""
        queues = (await self.progress(group, topic)).queues
        return await self._owned(group, queues) if owners else queues

    async def progress(self, group: str, topic: str | None = None) -> Progress:
        """The lag with the rate at which it shrinks; raises as `lag` does."""
        full_topic = None if topic is None else self._core.name(topic)
        header = headers.group.GetConsumeStatsRequestHeader(consumer_group=self._core.name(group), topic=full_topic)
        tables = await self._core.each_that_knows(
            await self._core.group_masters(group),
            lambda address: self._core.fetch(bodies.stats.ConsumeStats, address, RequestCode.GET_CONSUME_STATS, header),
        )
        found = {queue: wrap for stats in tables.values() for queue, wrap in stats.offset_table.items()}
        rate = sum(stats.consume_tps for stats in tables.values())
        return Progress(rate, [_lag(queue, found[queue]) for queue in sorted(found)])

    async def figures(self, group: str, *, owners: bool = False) -> GroupFigures:
        """Its members and its progress, each empty where brokers know of none."""
        members, progress = await asyncio.gather(self._members(group), self._progress_so_far(group))
        if owners:
            progress = replace(progress, queues=await self._owned(group, progress.queues))
        return GroupFigures(members, progress)

    async def connection(self, group: str) -> ConsumerConnection:
        """The consumers that are connected, and what they subscribe to. Raises Refused when there are none."""
        header = headers.client.GetConsumerConnectionListRequestHeader(consumer_group=self._core.name(group))
        found = await self._core.each_that_knows(
            await self._core.group_masters(group),
            lambda address: self._core.fetch(
                ConsumerConnection, address, RequestCode.GET_CONSUMER_CONNECTION_LIST, header
            ),
        )
        return next(iter(found.values()))

    async def producers(self, group: str, topic: str) -> bodies.connections.ProducerConnection:
        """The producers of a group that are connected to the brokers of `topic`."""
        header = headers.client.GetProducerConnectionListRequestHeader(producer_group=self._core.name(group))
        found = await self._core.each_that_knows(
            await self._core.topic_masters(topic),
            lambda address: self._core.fetch(
                bodies.connections.ProducerConnection, address, RequestCode.GET_PRODUCER_CONNECTION_LIST, header
            ),
        )
        return next(iter(found.values()))

    async def running_info(
        self, group: str, client_id: str, *, stacks: bool = False
    ) -> bodies.running_info.ConsumerRunningInfo:
        """The inside of one running consumer, as it tells it; with `stacks` also where its threads are."""
        header = headers.client.GetConsumerRunningInfoRequestHeader(
            consumer_group=self._core.name(group), client_id=client_id, jstack_enable=stacks
        )
        found = await self._core.each_that_knows(
            await self._core.group_masters(group),
            lambda address: self._core.fetch(
                bodies.running_info.ConsumerRunningInfo, address, RequestCode.GET_CONSUMER_RUNNING_INFO, header
            ),
        )
        return next(iter(found.values()))

    async def owners(self, group: str) -> dict[MessageQueue, str]:
        """Which connected consumer has which queue; nothing when none is connected."""
        try:
            members = (await self.connection(group)).connection_set
        except Refused as error:
            if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return {}
            raise
        owner_of: dict[MessageQueue, str] = {}
        for member in members:
            info = await self.running_info(group, member.client_id)
            owner_of |= dict.fromkeys(info.mq_table, member.client_id)
        return owner_of

    async def _owned(self, group: str, queues: list[QueueLag]) -> list[QueueLag]:
        owner_of = await self.owners(group)
        return [replace(row, owner=owner_of.get(row.queue)) for row in queues]

    async def _members(self, group: str) -> ConsumerConnection:
        try:
            return await self.connection(group)
        except Refused as error:
            if error.code in (ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.SYSTEM_ERROR):
                return NOBODY
            raise

    async def _progress_so_far(self, group: str) -> Progress:
        try:
            return await self.progress(group)
        except Refused as error:
            if error.code in (ResponseCode.NO_PERMISSION, ResponseCode.REQUEST_CODE_NOT_SUPPORTED):
                raise
            return Progress(0.0, [])

    async def _configs(self, address: str) -> dict[str, bodies.group.SubscriptionGroupConfig]:
        code = RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        return dict(
            (await self._core.fetch(bodies.group.SubscriptionGroupWrapper, address, code)).subscription_group_table
        )


def _lag(queue: MessageQueue, wrapper: bodies.stats.OffsetWrapper) -> QueueLag:
    return QueueLag(
        queue, wrapper.broker_offset, wrapper.consumer_offset, wrapper.last_timestamp or None, None, wrapper.pull_offset
    )
