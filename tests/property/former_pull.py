"""The two ways of a pull that the one road replaces, kept for as long as they are compared with it."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.pull.cold_data import HOLD_SECONDS, ColdReads
from sprocketmq.broker.pull.offset_moved import MovedOffsets
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.static_topic.handler import LogicalRequests
from sprocketmq.broker.tables.group_members import ConsumerTable
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets, key_of
from sprocketmq.broker.tables.subscriptions import TAG, PropertyRule, Wanted, matches, wanted_by
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import FilterError, RequestRefused
from sprocketmq.hot.memory import ticks_ns
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.topic import PERM_READ
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.enums import ConsumeType
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import is_system_group
from sprocketmq.protocol.requests.pull import (
    COMMIT_OFFSET,
    SUBSCRIPTION,
    SUSPEND,
    PullRequest,
    decode_pull,
    encode_pull_reply_head,
)
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.pull.get import GetResult, GetStatus, Getter
from sprocketmq.store.store import MessageStore

#: So many deadlines of pulls that are answered already may stay in the heap; above that, half of it.
_FEW_ENDED = 64

Waiter = TypeVar("Waiter")


def strip(request: Command) -> None:
    """Of a request that waits only what its answer needs is kept."""
    request.body = b""
    request.ext_fields = None


class Waiters(Generic[Waiter]):
    """What waits on each connection: `drop` is given what is left when one closes."""

    def __init__(self, name: str, drop: Callable[[Waiter], object]) -> None:
        self._name = name
        self._drop = drop

    def add(self, connection: Connection, waiter: Waiter) -> None:
        """The connection is open."""
        waiting = connection.attributes.get(self._name)
        if waiting is None:
            waiting = connection.attributes[self._name] = set()
            connection.on_closed.append(self._closed)
        waiting.add(waiter)

    def discard(self, connection: Connection, waiter: Waiter) -> None:
        connection.attributes.get(self._name, set()).discard(waiter)

    def _closed(self, connection: Connection) -> None:
        for waiter in connection.attributes.pop(self._name):
            self._drop(waiter)


class Parked:
    """A pull that waits. `pull.queue_offset` moves on past messages that are not for it."""

    __slots__ = ("connection", "deadline", "done", "pull", "request", "wanted")

    def __init__(
        self, connection: Connection, request: Command, pull: PullRequest, wanted: Wanted, deadline: float
    ) -> None:
        self.connection = connection
        strip(request)
        self.request = request
        self.pull = pull
        self.wanted = wanted
        self.deadline = deadline
        self.done = False


#: Told that a message has come to a queue.
Arrived = Callable[[str, int], object]


class LongPolls:
    """`serve` answers a pull for which something has come, or whose time is over."""

    def __init__(self, store: MessageStore, serve: Callable[[Parked], object]) -> None:
        self._store = store
        self._serve = serve
        self._queues: dict[tuple[str, int], list[Parked]] = {}
        self._deadlines: list[tuple[float, int, Parked]] = []
        self._ended = 0  # of those in the heap
        self._waiters: Waiters[Parked] = Waiters("parked pulls", self._drop)
        self._woken: list[Parked] = []
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0
        self._listeners: dict[tuple[str, int], Arrived] = {}
        store.on_dispatch = self.arrived

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def park(self, parked: Parked) -> None:
        if parked.connection.closed:
            self.answer(parked)
            return
        self._waiters.add(parked.connection, parked)
        key = (parked.pull.topic, parked.pull.queue_id)
        waiting = self._queues.get(key)
        if waiting is None:
            waiting = self._queues[key] = []
            self._store.watch(*key)
        waiting.append(parked)
        self._count += 1
        heapq.heappush(self._deadlines, (parked.deadline, self._count, parked))
        if self._timer is None or parked.deadline < self._rings_at:
            self._ring_at(parked.deadline)

    def arrived(
        self, topic: str, queue_id: int, max_offset: int, tags_code: int, _store_timestamp: int, properties: bytes
    ) -> None:
        """A message has come to a watched queue; its offset is one below `max_offset`."""
        listener = self._listeners.get((topic, queue_id))
        if listener is not None:
            listener(topic, queue_id)
        waiting = self._queues.get((topic, queue_id))
        if not waiting:
            return
        left = []
        for parked in waiting:
            if parked.done:
                continue
            if matches(parked.wanted, tags_code, properties):
                self._wake(parked)
            else:
                if parked.pull.queue_offset == max_offset - 1:
                    parked.pull.queue_offset = max_offset
                left.append(parked)
        self._keep((topic, queue_id), left)

    def wake(self, topic: str, queue_id: int, group: str | None = None) -> None:
        """Have the parked pulls of a queue, or a group's of them, look again: an administrator has changed things."""
        waiting = self._queues.get((topic, queue_id), [])
        woken = [each for each in waiting if not each.done and group in (None, each.pull.consumer_group)]
        for parked in woken:
            self._wake(parked)
        if woken:
            self._keep((topic, queue_id), [parked for parked in waiting if not parked.done])

    def wake_topic(self, topic: str) -> None:
        for name, queue_id in list(self._queues):
            if name == topic:
                self.wake(topic, queue_id)

    def wake_all(self) -> None:
        """Answer everyone now: the broker is stopping."""
        for key, waiting in list(self._queues.items()):
            for parked in waiting:
                if not parked.done:
                    self._end(parked)
                    self._serve(parked)
            self._keep(key, [])
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _keep(self, key: tuple[str, int], left: list[Parked]) -> None:
        if left:
            self._queues[key] = left
        else:
            self._queues.pop(key, None)
            self._store.watch(*key, key in self._listeners)

    def listen(self, topic: str, queue_id: int, hook: Arrived) -> None:
        """Tell `hook` of every message that comes to a queue, whoever else waits there."""
        self._listeners[topic, queue_id] = hook
        self._store.watch(topic, queue_id)

    def unlisten(self, topic: str, queue_id: int) -> None:
        del self._listeners[topic, queue_id]
        self._store.watch(topic, queue_id, (topic, queue_id) in self._queues)

    def _wake(self, parked: Parked) -> None:
        self._end(parked)
        if not self._woken:
            asyncio.get_running_loop().call_soon(self._serve_woken)
        self._woken.append(parked)

    def _serve_woken(self) -> None:
        woken, self._woken = self._woken, []
        for parked in woken:
            self.answer(parked)

    def answer(self, parked: Parked) -> None:
        """With what there is; who has left is only told that it is over."""
        if parked.connection.closed:
            parked.connection.reply(parked.request.reply(ResponseCode.SYSTEM_ERROR, "the client has left"))
        else:
            self._serve(parked)

    def _end(self, parked: Parked) -> None:
        """It waits no longer. Its deadline stays in the heap until there are too many like it."""
        parked.done = True
        self._waiters.discard(parked.connection, parked)
        self._ended += 1
        if self._ended > max(_FEW_ENDED, len(self._deadlines) // 2):
            self._deadlines[:] = [each for each in self._deadlines if not each[2].done]
            heapq.heapify(self._deadlines)
            self._ended = 0

    def _drop(self, parked: Parked) -> None:
        """Its connection has closed."""
        self._end(parked)
        self._leave(parked)
        self.answer(parked)

    def _leave(self, parked: Parked) -> None:
        key = (parked.pull.topic, parked.pull.queue_id)
        self._keep(key, [other for other in self._queues.get(key, ()) if not other.done])

    def _ring_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = deadline
        self._timer = asyncio.get_running_loop().call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        deadlines = self._deadlines
        while deadlines and (deadlines[0][0] <= now or deadlines[0][2].done):
            parked = heapq.heappop(deadlines)[2]
            if not parked.done:
                self._end(parked)
                self._leave(parked)
                self.answer(parked)
            self._ended = max(0, self._ended - 1)  # those that ended and are still in the heap
        if deadlines:
            self._ring_at(deadlines[0][0])


MAX_BYTES = 0x7FFFFFFF

_LITE = int(RequestCode.LITE_PULL_MESSAGE)
_FOUND = GetStatus.FOUND

Detour = Callable[[Any, Command, PullRequest], Any]


class PullLane:
    """One group on one topic. `offsets_key` is what both are called in the table of offsets."""

    def __init__(self, pull: PullRequest, wanted: Any, offsets_key: str, counters: list[Counter]) -> None:
        self.wanted = wanted
        self.offsets_key = offsets_key
        self.counters = counters
        self.takes_lite = False
        self.topic_sys_flag = self.group_sys_flag = 0
        #: Where to pull next, and where when this broker must read from its disk.
        self.broker_id = self.slow_broker_id = 0
        self._carried = pull.sys_flag & SUBSCRIPTION
        self._subscription = pull.subscription
        self._expression_type = pull.expression_type
        self.sub_version = 0

    def fits(self, request: Command, pull: PullRequest) -> bool:
        if pull.queue_id < 0 or pull.queue_id >= len(self.counters) or pull.sys_flag & SUBSCRIPTION != self._carried:
            return False
        if request.code == _LITE and not self.takes_lite:
            return False
        if self._carried:
            return pull.subscription == self._subscription and pull.expression_type == self._expression_type
        return pull.sub_version <= self.sub_version


class StraightPull:
    """`offsets` and `stats` are told what each group got."""

    def __init__(self, getter: Getter, offsets: Any, stats: Any, detour: Detour) -> None:
        self.lanes: dict[str, dict[str, PullLane]] = {}
        self._getter = getter
        self._offsets = offsets
        self._stats = stats
        self._detour = detour

    def open(self, topic: str, group: str, lane: PullLane) -> None:
        self.lanes.setdefault(topic, {})[group] = lane

    def close_all(self, _changed: Any = None) -> None:
        self.lanes.clear()

    def lane_of(self, pull: PullRequest) -> PullLane | None:
        groups = self.lanes.get(pull.topic)
        return None if groups is None else groups.get(pull.consumer_group)

    def pull(self, connection: Any, request: Command) -> Any:
        pull = decode_pull(request)
        lane = self.lane_of(pull)
        if lane is None or not lane.fits(request, pull) or self._offsets.resets:
            return self._detour(connection, request, pull)
        began = ticks_ns()
        max_bytes = MAX_BYTES if pull.max_msg_bytes is None else pull.max_msg_bytes
        result = self._getter.get_message(
            pull.topic, pull.queue_id, pull.queue_offset, pull.max_msg_nums, max_bytes, lane.wanted,
            pull.bulk is not None,
        )  # fmt: skip
        if result.status is not _FOUND:
            return self._detour(connection, request, pull)
        counter = lane.counters[pull.queue_id]
        counter.count += result.count
        counter.size += result.size
        counter.micros += (ticks_ns() - began) // 1000
        self._stats.found += 1
        if pull.sys_flag & COMMIT_OFFSET:
            self._offsets.commit_by(lane.offsets_key, pull.queue_id, pull.commit_offset)
        self._offsets.pull_by(lane.offsets_key, pull.queue_id, result.next_begin_offset)
        head = encode_pull_reply_head(
            request, 0, None, lane.slow_broker_id if result.suggest_pulling_from_slave else lane.broker_id,
            result.next_begin_offset, result.min_offset, result.max_offset, result.size, lane.topic_sys_flag,
            lane.group_sys_flag,
        )  # fmt: skip
        return result.behind(head)


#: Why NO_PERMISSION was answered, for clients that tell one from the other.
BROKER_FORBIDDEN, GROUP_FORBIDDEN, TOPIC_FORBIDDEN, BROADCASTING_FORBIDDEN, SUBSCRIPTION_FORBIDDEN = 1, 2, 3, 4, 5

_CODES = {
    GetStatus.FOUND: ResponseCode.SUCCESS,
    GetStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
    GetStatus.OFFSET_RESET: ResponseCode.PULL_OFFSET_MOVED,
}


class PullRefused(RequestRefused):
    """NO_PERMISSION, with the reason as a number."""

    def __init__(self, forbidden_type: int, remark: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, remark)
        self.forbidden_type = forbidden_type


class FormerPulls:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, groups: GroupTable,
        consumers: ConsumerTable, offsets: ConsumerOffsets, stats: Stats, moved: MovedOffsets, cold: ColdReads,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._topics = topics
        self._groups = groups
        self._consumers = consumers
        self._offsets = offsets
        self._stats = stats
        self._looked_ns = 0
        self._moved = moved
        self._cold = cold
        #: Takes the pulls of static topics.
        self.logical: LogicalRequests | None = None
        self.long_polls = LongPolls(store, self._serve_parked)
        self._straight = StraightPull(store.getter, offsets, stats, self.detour)
        settings.on_change.append(self._straight.close_all)
        settings.on_store_change.append(self._straight.close_all)
        topics.on_change.append(self._straight.close_all)
        groups.on_change.append(self._straight.close_all)
        consumers.on_change.append(self._straight.close_all)

    def add_to(self, table: ProcessorTable) -> None:
        table.add_hot((RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE), self._straight.pull)

    def close_lanes(self) -> None:
        """Have every group's pulls asked anew: what may be read here, and how, has changed."""
        self._straight.close_all()

    def detour(self, connection: Connection, request: Command, pull: PullRequest) -> Reply:
        """Any pull that the straight way does not take."""
        if self.logical is not None and pull.topic in self.logical.topics and self.logical.owns(pull.topic, request):
            return self.logical.take(connection, request)
        try:
            group = self._allow(request, pull)
            wanted = self._wanted(pull, group)
        except PullRefused as refused:
            ext_fields = {"forbiddenType": str(refused.forbidden_type)}
            return request.reply(refused.code, refused.remark, ext_fields=ext_fields)
        if pull.sys_flag & COMMIT_OFFSET:
            self._offsets.commit(pull.consumer_group, pull.topic, pull.queue_id, pull.commit_offset)
        if self._cold.is_on and self._is_held_back(pull):
            return self._hold_back(connection, request, pull, wanted)
        result = self._get(pull, wanted)
        code = _code(result, pull)
        if code == ResponseCode.PULL_NOT_FOUND and pull.sys_flag & SUSPEND and not request.is_oneway:
            self._park(connection, request, pull, wanted)
            return None
        if code == ResponseCode.SUCCESS:
            self._open_lane(pull, group, wanted)
        return self._answer(request, pull, group, result, code)

    # -- may it pull, and what does it want? --------------------------------------------------------------------------

    def _allow(self, request: Command, pull: PullRequest) -> SubscriptionGroupConfig:
        config = self._settings.current
        if not config.broker_permission & PERM_READ:
            raise PullRefused(BROKER_FORBIDDEN, "this broker may not be read")
        if request.code == RequestCode.LITE_PULL_MESSAGE and not config.lite_pull_message_enable:
            raise PullRefused(BROKER_FORBIDDEN, "lite pulls are switched off on this broker")
        group = self._groups.get(pull.consumer_group)
        if group is None:
            remark = f"no group {pull.consumer_group}, and it is not created by a pull"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        if not group.consume_enable:
            raise PullRefused(GROUP_FORBIDDEN, f"group {pull.consumer_group} may not consume")
        topic = self._topics.get(pull.topic)
        if topic is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {pull.topic}")
        if not topic.readable:
            raise PullRefused(TOPIC_FORBIDDEN, f"topic {pull.topic} may not be read")
        if self._groups.forbidden and self._groups.is_forbidden(pull.consumer_group, pull.topic, PERM_READ):
            raise PullRefused(SUBSCRIPTION_FORBIDDEN, f"group {pull.consumer_group} may not read {pull.topic}")
        if not 0 <= pull.queue_id < topic.read_queue_nums:
            remark = f"topic {pull.topic} has {topic.read_queue_nums} queues to read, there is no queue {pull.queue_id}"
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, remark)
        return group

    def _wanted(self, pull: PullRequest, group: SubscriptionGroupConfig) -> Wanted:
        wanted = self._carried(pull) if pull.sys_flag & SUBSCRIPTION else self._registered(pull, group)
        if isinstance(wanted, PropertyRule) and not self._settings.current.enable_property_filter:
            remark = "this broker does not filter by properties; its enablePropertyFilter is false"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        return wanted

    def _carried(self, pull: PullRequest) -> Wanted:
        """The pull brought its subscription along."""
        try:
            return wanted_by(pull.expression_type or TAG, pull.subscription or "")
        except FilterError as error:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from None

    def _registered(self, pull: PullRequest, config: SubscriptionGroupConfig) -> Wanted:
        """What the group's heartbeats told."""
        group = self._consumers.get(pull.consumer_group)
        if group is None:
            remark = f"no consumer of group {pull.consumer_group} is known here"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if group.is_broadcasting and not config.consume_broadcast_enable:
            raise PullRefused(BROADCASTING_FORBIDDEN, f"group {pull.consumer_group} may not consume by broadcasting")
        if self._settings.current.reject_pull_consumer_enable and group.consume_type is ConsumeType.CONSUME_ACTIVELY:
            raise PullRefused(GROUP_FORBIDDEN, "this broker serves no pull consumers")
        subscription = group.subscriptions.get(pull.topic)
        if subscription is None:
            remark = f"group {pull.consumer_group} does not subscribe to {pull.topic}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if subscription.data.sub_version < pull.sub_version:
            remark = f"the subscription of group {pull.consumer_group} is not the latest"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_LATEST, remark)
        return subscription.wanted

    def _open_lane(self, pull: PullRequest, group: SubscriptionGroupConfig, wanted: Wanted) -> None:
        """The next pull like this one need not be asked what this one was asked."""
        config, topic = self._settings.current, self._topics.get(pull.topic)
        is_static = self.logical is not None and pull.topic in self.logical.topics
        if topic is None or is_static or self._cold.is_on or is_system_group(pull.consumer_group):
            return
        counters = self._stats.group(pull.consumer_group, pull.topic).grow(topic.read_queue_nums)
        lane = PullLane(pull, wanted, key_of(pull.consumer_group, pull.topic), counters[: topic.read_queue_nums])
        if not pull.sys_flag & SUBSCRIPTION:
            if config.reject_pull_consumer_enable or not group.consume_broadcast_enable:
                return  # each heartbeat may change the answer
            lane.sub_version = self._consumers.groups[pull.consumer_group].subscriptions[pull.topic].data.sub_version
        lane.takes_lite = config.lite_pull_message_enable
        lane.topic_sys_flag, lane.group_sys_flag = topic.topic_sys_flag, group.group_sys_flag
        if config.slave_read_enable:
            lane.broker_id, lane.slow_broker_id = group.broker_id, group.which_broker_when_consume_slowly
        self._straight.open(pull.topic, pull.consumer_group, lane)

    # -- what is there? -----------------------------------------------------------------------------------------------

    def _get(self, pull: PullRequest, wanted: Wanted) -> GetResult:
        if self._offsets.resets:
            offset = self._offsets.take_reset(pull.consumer_group, pull.topic, pull.queue_id)
            if offset is not None:
                low = self._store.min_offset(pull.topic, pull.queue_id)
                high = self._store.max_offset(pull.topic, pull.queue_id)
                return GetResult(GetStatus.OFFSET_RESET, offset, low, high)
        began = time.perf_counter_ns()
        result = self._store.get_message(
            pull.topic, pull.queue_id, pull.queue_offset, pull.max_msg_nums,
            MAX_BYTES if pull.max_msg_bytes is None else pull.max_msg_bytes, wanted, pull.bulk is not None,
        )  # fmt: skip
        self._looked_ns = time.perf_counter_ns() - began
        if self._cold.is_on:
            self._cold.count(pull.consumer_group, pull.topic, pull.queue_id, pull.queue_offset, result)
        return result

    def _answer(
        self, request: Command, pull: PullRequest, group: SubscriptionGroupConfig, result: GetResult, code: int
    ) -> bytes:
        if not is_system_group(pull.consumer_group):  # tools look, they do not consume
            self._count(pull, result, code)
        topic = self._topics.get(pull.topic)
        head = encode_pull_reply_head(
            request, code, None if code == ResponseCode.SUCCESS else result.status.name,
            self._suggest_broker(group, result), result.next_begin_offset, result.min_offset, result.max_offset,
            result.size, 0 if topic is None else topic.topic_sys_flag, group.group_sys_flag,
        )  # fmt: skip
        return result.behind(head)

    def _count(self, pull: PullRequest, result: GetResult, code: int) -> None:
        if code == ResponseCode.SUCCESS:
            self._stats.got(
                pull.consumer_group, pull.topic, pull.queue_id, result.count, result.size, self._looked_ns // 1000
            )
            self._offsets.pull_by(key_of(pull.consumer_group, pull.topic), pull.queue_id, result.next_begin_offset)
            return
        self._stats.missed += 1
        if code == ResponseCode.PULL_OFFSET_MOVED and result.status is not GetStatus.OFFSET_RESET:  # that one was meant
            queue = MessageQueue(pull.topic, self._settings.current.broker_name, pull.queue_id)
            self._moved.tell(pull.consumer_group, queue, pull.queue_offset, result.next_begin_offset)

    def _suggest_broker(self, group: SubscriptionGroupConfig, result: GetResult) -> int:
        if not self._settings.current.slave_read_enable:
            return 0
        return group.which_broker_when_consume_slowly if result.suggest_pulling_from_slave else group.broker_id

    # -- readers of cold data -----------------------------------------------------------------------------------------

    def _is_held_back(self, pull: PullRequest) -> bool:
        return self._cold.holds_back(pull.consumer_group, pull.topic, pull.queue_id, pull.queue_offset)

    def _hold_back(self, connection: Connection, request: Command, pull: PullRequest, wanted: Wanted) -> Reply:
        group = self._consumers.get(pull.consumer_group)
        if group is None or group.consume_type is not ConsumeType.CONSUME_ACTIVELY:
            remark = f"group {pull.consumer_group} reads cold data, and has read enough of it for now"
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, remark)
        pull.max_msg_nums = 1
        parked = Parked(connection, request, pull, wanted, 0.0)
        asyncio.get_running_loop().call_later(HOLD_SECONDS, self.long_polls.answer, parked)
        return None

    # -- waiting ------------------------------------------------------------------------------------------------------

    def _park(self, connection: Connection, request: Command, pull: PullRequest, wanted: Wanted) -> None:
        config = self._settings.current
        wait_ms = pull.suspend_timeout_millis if config.long_polling_enable else config.short_polling_time_mills
        deadline = asyncio.get_running_loop().time() + config.polling_seconds(wait_ms)
        self.long_polls.park(Parked(connection, request, pull, wanted, deadline))

    def _serve_parked(self, parked: Parked) -> None:
        """Look once more, and answer whatever there is."""
        pull = parked.pull
        group = self._groups.get(pull.consumer_group)
        if group is None:  # deleted while it waited
            parked.connection.reply(
                parked.request.reply(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "the group is gone")
            )
            return
        result = self._get(pull, parked.wanted)
        parked.connection.reply(self._answer(parked.request, pull, group, result, _code(result, pull)))


def _code(result: GetResult, pull: PullRequest) -> int:
    status = result.status
    if status in (GetStatus.NO_MATCHED_LOGIC_QUEUE, GetStatus.NO_MESSAGE_IN_QUEUE):
        return ResponseCode.PULL_NOT_FOUND if pull.queue_offset == 0 else ResponseCode.PULL_OFFSET_MOVED
    return _CODES[status]
