"""POP: the broker hands messages out and hides them until they are acknowledged or their invisible time is over.

    POP_MESSAGE       take from any queue of the topic, and from the group's retry topic; wait when there is nothing
    PEEK_MESSAGE      look without taking
    NOTIFICATION      is there something to take? wait when there is nothing
    POLLING_INFO      how many wait

What is taken counts as consumed for the group's offset at once; a check point in the revive topic brings it back when
it is not acknowledged, see `revive`. Orderly POP takes from a queue only when what it took before is acknowledged or
its time is over, and then begins again with the first that is not; its offset moves with the acknowledgements.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from sprocketmq.broker.handlers.queue_offsets import is_young
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.pop.order import PopOrder, check_take
from sprocketmq.broker.pop.polls import PopPolls, Waiting
from sprocketmq.broker.pop.records import (
    MAX_MESSAGES,
    NORMAL,
    ORDERLY,
    RETRY_V1,
    RETRY_V2,
    CheckPoint,
    ExtraInfo,
    topic_of,
)
from sprocketmq.broker.pop.revive import Revive
from sprocketmq.broker.pull.long_polling import LongPolls
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.safe_answers import SafeAnswers
from sprocketmq.broker.tables.groups import GroupTable
from sprocketmq.broker.tables.offsets import ConsumerOffsets
from sprocketmq.broker.tables.subscriptions import TAG, Wanted, filter_bytes, wanted_by
from sprocketmq.broker.tables.topics import TopicTable
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import FilterError, RequestRefused
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.protocol.headers.pop import (
    NotificationRequestHeader,
    NotificationResponseHeader,
    PeekMessageRequestHeader,
    PollingInfoRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from sprocketmq.protocol.names import is_retry_topic
from sprocketmq.protocol.permissions import PERM_READ
from sprocketmq.protocol.record.properties import POP_CK, decode_properties, encode_properties
from sprocketmq.protocol.record.record import Record, decode_records, encode_record
from sprocketmq.protocol.requests.pull import MAX_BYTES
from sprocketmq.remoting import Connection, ProcessorTable, Reply
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.pull.get import GetResult, GetStatus
from sprocketmq.store.store import MessageStore

#: initMode of a group that has no offset yet: from the first message, or from the end.
FROM_MIN, FROM_MAX = 0, 1
#: One POP in so many looks at the retry topic first, so that it is never starved.
_RETRY_FIRST = 5

_SKIP = (GetStatus.NO_MATCHED_MESSAGE, GetStatus.OFFSET_FOUND_NULL, GetStatus.MESSAGE_WAS_REMOVING)
_MOVED = (GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY)


@dataclass(slots=True)
class _Taken:
    """What one POP has gathered so far."""

    pop_time: int
    revive_queue_id: int
    messages: list[bytes] = field(default_factory=list)
    count: int = 0
    rest: int = 0
    starts: list[str] = field(default_factory=list)
    offsets: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)


class PopProcessors:
    def __init__(
        self, settings: Settings, store: MessageStore, topics: TopicTable, groups: GroupTable,
        offsets: ConsumerOffsets, stats: Stats, clock: Clock, revive: Revive, order: PopOrder, long_polls: LongPolls,
        answers: SafeAnswers,
    ) -> None:  # fmt: skip
        self.polls = PopPolls(settings, long_polls, answers)
        self._settings = settings
        self._store = store
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._stats = stats
        self._clock = clock
        self._revive = revive
        self._order = order
        self._answers = answers

    def add_to(self, table: ProcessorTable) -> None:
        table.add(RequestCode.POP_MESSAGE, self.pop)
        table.add(RequestCode.PEEK_MESSAGE, self.peek)
        table.add(RequestCode.NOTIFICATION, self.notify)
        table.add(RequestCode.POLLING_INFO, self.polling_info)
        table.add(RequestCode.POP_ROLLBACK, self.roll_back)

    # -- requests ------------------------------------------------------------------------------------------------------

    def pop(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(PopMessageRequestHeader, request.ext_fields)
        topic = self._allow(connection, header.topic, header.consumer_group, header.queue_id, header.max_msg_nums)
        check_take(header.invisible_time, self._settings.current.longest_invisible_ms, header.attempt_id)
        wanted = self._wanted(header)
        reply = self._pop(request, header, topic, wanted)
        if reply is not None:
            return self._answers.reply(connection, request, reply)
        if request.is_oneway:
            return None
        queues = self._watched(topic, header.consumer_group, header.queue_id)

        def again(late: bool) -> Command | None:
            found = self._pop(request, header, topic, wanted)
            return found if found is not None or not late else _nothing(request)

        waiting = Waiting(connection, request, again, queues, filter_bytes(header.exp or "", wanted))
        if header.poll_time <= 0:
            return _nothing(request)
        if not self.polls.park(waiting, header.poll_time):
            return request.reply(ResponseCode.POLLING_FULL, "too many wait here")
        return None

    def peek(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(PeekMessageRequestHeader, request.ext_fields)
        topic = self._allow(connection, header.topic, header.consumer_group, header.queue_id, header.max_msg_nums)
        taken = _Taken(self._clock.now_ms(), 0)
        for name, flag, queue_id in self._places(topic, header.consumer_group, header.queue_id):
            if taken.count < header.max_msg_nums:
                result = self._get(name, header.consumer_group, queue_id, header.max_msg_nums - taken.count, None)
                self._add(taken, result, header.consumer_group, topic.topic_name, name, flag, queue_id, 0)
        if not taken.messages:
            return request.reply(ResponseCode.PULL_NOT_FOUND, "nothing to see")
        return self._answer(request, taken, 0)

    def notify(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(NotificationRequestHeader, request.ext_fields)
        topic = self._allow(connection, header.topic, header.consumer_group, header.queue_id, 1)
        queues = self._watched(topic, header.consumer_group, header.queue_id)

        def look(late: bool) -> Command | None:
            found = any(self._may_take(header, name, queue_id) for name, queue_id in queues)
            answer = to_ext_fields(NotificationResponseHeader(has_msg=found))
            return request.reply(ext_fields=answer) if found or late else None

        reply = look(late=header.poll_time <= 0 or request.is_oneway)
        if reply is not None:
            return reply
        if not self.polls.park(Waiting(connection, request, look, queues), header.poll_time):
            full = NotificationResponseHeader(has_msg=False, polling_full=True)
            return request.reply(ext_fields=to_ext_fields(full))
        return None

    def polling_info(self, connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(PollingInfoRequestHeader, request.ext_fields)
        topic = self._allow(connection, header.topic, header.consumer_group, header.queue_id, 1)
        queues = self._watched(topic, header.consumer_group, header.queue_id)
        return request.reply(ext_fields={"pollingNum": str(self.polls.count(queues))})

    def roll_back(self, _connection: Connection, request: Command) -> Reply:
        """Brings records from RocksDB back to the revive topic, says RocketMQ; here they are never anywhere else."""
        return request.reply()

    # -- may it pop, and what? -----------------------------------------------------------------------------------------

    def _allow(
        self, connection: Connection, name: str, group_name: str, queue_id: int, max_messages: int
    ) -> TopicConfig:
        if not 0 < max_messages <= MAX_MESSAGES:
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, f"maxMsgNums must be 1 to {MAX_MESSAGES}")
        if not self._settings.current.broker_permission & PERM_READ:
            raise RequestRefused(ResponseCode.NO_PERMISSION, "this broker may not be read")
        topic = self._topics.get(name)
        if topic is None:
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"no topic {name}")
        if not topic.readable:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"topic {name} may not be read")
        if queue_id >= topic.read_queue_nums:
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, f"topic {name} has no queue {queue_id}")
        group = self._groups.get(group_name, connection.peer)
        if group is None:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"no group {group_name}")
        if not group.consume_enable:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"group {group_name} may not consume")
        return topic

    def _wanted(self, header: PopMessageRequestHeader) -> Wanted:
        if not header.exp:
            return None
        try:
            return wanted_by(header.exp_type or TAG, header.exp)
        except FilterError as error:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from None

    def _places(self, topic: TopicConfig, group: str, queue_id: int) -> list[tuple[str, str, int]]:
        """(topic, retry flag, queue) in the order to take from: the queues from a random one on, and retries."""
        count = topic.read_queue_nums
        start = random.randrange(max(1, count))  # noqa: S311 - spreads load
        numbers = [queue_id] if queue_id >= 0 else [(start + step) % count for step in range(count)]
        own = [(topic.topic_name, NORMAL, number) for number in numbers]
        again = [(topic_of(topic.topic_name, group, flag), flag, 0) for flag in (RETRY_V1, RETRY_V2)]
        again = [place for place in again if place[0] != topic.topic_name and self._topics.get(place[0]) is not None]
        return again + own if random.randrange(_RETRY_FIRST) == 0 else own + again  # noqa: S311 - spreads load

    def _watched(self, topic: TopicConfig, group: str, queue_id: int) -> list[tuple[str, int]]:
        """Every queue where a message for this request may come."""
        numbers = [queue_id] if queue_id >= 0 else range(topic.read_queue_nums)
        retry = topic_of(topic.topic_name, group, RETRY_V1)
        return [(topic.topic_name, number) for number in numbers] + [(retry, 0)]

    # -- taking --------------------------------------------------------------------------------------------------------

    def _pop(
        self, request: Command, header: PopMessageRequestHeader, topic: TopicConfig, wanted: Wanted
    ) -> Command | None:
        taken = _Taken(self._clock.now_ms(), ORDERLY if header.order else self._revive.next_queue())
        for name, flag, queue_id in self._places(topic, header.consumer_group, header.queue_id):
            left = header.max_msg_nums - taken.count
            if left > 0 and not (header.order and flag != NORMAL):
                self._take(taken, header, topic.topic_name, name, flag, queue_id, left, wanted)
        return self._answer(request, taken, header.invisible_time) if taken.messages else None

    def _take(
        self, taken: _Taken, header: PopMessageRequestHeader, asked: str, topic: str, flag: str, queue_id: int,
        left: int, wanted: Wanted,
    ) -> None:  # fmt: skip
        group = header.consumer_group
        if header.order and self._order.is_blocked(topic, group, queue_id, header.attempt_id):
            return
        result = self._get(topic, group, queue_id, left, wanted, header.init_mode)
        records = self._add(taken, result, group, asked, topic, flag, queue_id, header.invisible_time)
        if not records:
            if result.status in _SKIP:
                self._offsets.commit(group, topic, queue_id, result.next_begin_offset)
            return
        offsets = [record.queue_offset for record in records]
        if header.order:
            taken.times += self._order.taken(
                topic, group, queue_id, offsets, result.next_begin_offset, taken.pop_time, header.invisible_time,
                header.attempt_id,
            )  # fmt: skip
            return
        check_point = CheckPoint(
            start_offset=offsets[0], pop_time=taken.pop_time, invisible_time=header.invisible_time, topic=topic,
            group=group, queue_id=queue_id, broker_name=self._settings.current.broker_name, offsets=offsets,
            acked=set(),
        )  # fmt: skip
        if not self._revive.put_check_point(check_point, taken.revive_queue_id):
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "the store takes no check point now")
        self._offsets.commit(group, topic, queue_id, result.next_begin_offset)
        self._stats.got(group, topic, queue_id, len(records), result.size)
        self._stats.check_point(group, topic)

    def _get(
        self, topic: str, group: str, queue_id: int, left: int, wanted: Wanted, init_mode: int = FROM_MIN
    ) -> GetResult:
        offset = self._offset(topic, group, queue_id, init_mode)
        result = self._store.get_message(topic, queue_id, offset, left, MAX_BYTES, wanted)
        if result.status in _MOVED:
            self._offsets.commit(group, topic, queue_id, result.next_begin_offset)
            begin = result.next_begin_offset
            result = self._store.get_message(topic, queue_id, begin, left, MAX_BYTES, wanted)
        return result

    def _offset(self, topic: str, group: str, queue_id: int, init_mode: int) -> int:
        reset = self._offsets.take_reset(group, topic, queue_id)
        known = reset if reset is not None else self._offsets.query(group, topic, queue_id)
        if known is not None:
            return known
        if init_mode != FROM_MAX or is_retry_topic(topic) or is_young(self._store, topic, queue_id):
            return self._store.min_offset(topic, queue_id)
        begin = max(0, self._store.max_offset(topic, queue_id) - 1)  # the last one may have come for this very group
        self._offsets.commit(group, topic, queue_id, begin)
        return begin

    def _may_take(self, header: NotificationRequestHeader, topic: str, queue_id: int) -> bool:
        group = header.consumer_group
        if header.order and self._order.is_blocked(header.topic, group, queue_id, header.attempt_id):
            return False
        begin = self._offsets.query(group, topic, queue_id) or self._store.min_offset(topic, queue_id)
        return begin < self._store.max_offset(topic, queue_id)

    def _add(
        self, taken: _Taken, result: GetResult, group: str, asked: str, topic: str, flag: str, queue_id: int,
        invisible_time: int,
    ) -> list[Record]:  # fmt: skip
        """Note what was found in one queue; its records."""
        taken.rest += max(0, result.max_offset - result.next_begin_offset)
        if result.status is not GetStatus.FOUND:
            return []
        data = result.records
        records = list(decode_records(data))
        if flag == NORMAL:
            taken.messages.append(data)
        else:
            start = records[0].queue_offset
            taken.messages += [self._as_asked(record, asked, taken, flag, start, invisible_time) for record in records]
        taken.count += len(records)
        taken.starts.append(f"{flag} {queue_id} {records[0].queue_offset}")
        taken.offsets.append(f"{flag} {queue_id} {','.join(str(record.queue_offset) for record in records)}")
        return records

    def _as_asked(self, record: Record, asked: str, taken: _Taken, flag: str, start: int, invisible_time: int) -> bytes:
        """A message of a retry topic as one of the topic asked for; it carries its extra info along."""
        info = ExtraInfo(
            start_offset=start, pop_time=taken.pop_time, invisible_time=invisible_time,
            revive_queue_id=taken.revive_queue_id, retry_flag=flag, broker_name=self._settings.current.broker_name,
            queue_id=record.queue_id, queue_offset=record.queue_offset,
        )  # fmt: skip
        properties = decode_properties(record.properties)
        properties[POP_CK] = str(info)
        return encode_record(record.replace(topic=asked, properties=encode_properties(properties).encode()))

    def _answer(self, request: Command, taken: _Taken, invisible_time: int) -> Command:
        header = PopMessageResponseHeader(
            pop_time=taken.pop_time,
            invisible_time=invisible_time,
            revive_qid=taken.revive_queue_id,
            rest_num=taken.rest,
            start_offset_info=";".join(taken.starts),
            msg_offset_info=";".join(taken.offsets),
            order_count_info=";".join(taken.times) or None,
        )
        return request.reply(ext_fields=to_ext_fields(header), body=b"".join(taken.messages))


def _nothing(request: Command) -> Command:
    return request.reply(ResponseCode.POLLING_TIMEOUT, "no message came")
