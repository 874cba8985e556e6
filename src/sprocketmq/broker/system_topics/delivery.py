"""Messages that rest in a system topic until they go to their own: how they get there and back.

On the way in, REAL_TOPIC and REAL_QID note where a message belongs. Back in its own topic it keeps its properties as
they are, these two included, as RocketMQ leaves them. Its prepared transaction offset, which means nothing for such a
message, names the record it came from: after a kill that tells what was delivered already.
"""

from __future__ import annotations

from typing import NamedTuple

from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.names import TIMER_TOPIC
from sprocketmq.protocol.record.properties import REAL_QUEUE_ID, REAL_TOPIC, UNIQUE_KEY, decode_properties
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.log.append import PutStatus
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.system_topics")

#: A put that is refused so will be refused again: the message itself is at fault.
HOPELESS = frozenset({PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED})
_MAX_FOUND = 64
_END_OF_TIME = (1 << 63) - 1


class Home(NamedTuple):
    """Where a message belongs."""

    topic: str
    queue_id: int


def redirect(message: BrokerMessage, topic: str, queue_id: int) -> None:
    """Send a message to rest in `topic`."""
    message.properties[REAL_TOPIC] = message.topic
    message.properties[REAL_QUEUE_ID] = str(message.queue_id)
    message.topic = topic
    message.queue_id = queue_id


def home_of(properties: dict[str, str]) -> Home | None:
    """None for a message that does not say, or says what cannot be."""
    topic, queue_id = properties.get(REAL_TOPIC, ""), number_in(properties.get(REAL_QUEUE_ID))
    if names.topic_fault(topic) is not None or queue_id is None or queue_id < 0:
        return None
    return Home(topic, queue_id)


class Deliveries:
    """Brings messages home. After an unclean stop, and as a new master, it looks first whether one is home already."""

    def __init__(self, store: MessageStore, stats: Stats) -> None:
        self._store = store
        self._stats = stats
        self._refused = False
        self._doubtful_below = 0 if store.report.clean else store.report.end_offset

    def doubt_all(self) -> None:
        """Another broker has delivered until now: what of this log it has brought home must be looked up."""
        self._doubtful_below = self._store.log.max_offset

    def is_doubtful(self, commit_offset: int) -> bool:
        """Whether what this record asks for may have been done."""
        return commit_offset < self._doubtful_below

    def cannot_tell(self) -> bool:
        """Whether what was brought home last is in the log and not in the index yet."""
        return self._store.dispatcher.dispatched_offset < self._doubtful_below

    def is_home(self, record: Record, topic: str, since_ms: int) -> bool:
        key = decode_properties(record.properties).get(UNIQUE_KEY, "")
        return record.commit_offset in origins(self._store, topic, key, since_ms)

    def deliver(self, record: Record, home: Home, properties: dict[str, str]) -> bool:
        """Whether the message is dealt with; False when the store takes none now, or cannot tell whether it has it."""
        if self.is_doubtful(record.commit_offset):
            if self.cannot_tell():
                return False
            if self.is_home(record, home.topic, record.store_timestamp):
                return True
        message = message_of(record, home, properties)
        message.prepared_transaction_offset = record.commit_offset
        result = message.put_to(self._store)
        if result.status in HOPELESS:
            events.warning("message cannot be delivered", commit_offset=record.commit_offset, topic=home.topic)
        elif result.ok:
            self._stats.put(home.topic, home.queue_id, 1, result.size)
            if home.topic != TIMER_TOPIC:  # a long delay is laid down again for the next part of its way
                self._stats.special.rested(home.topic, self._store.clock.now_ms() - record.born_timestamp)
        elif not self._refused:
            events.warning("message not delivered yet", topic=home.topic, status=PutStatus(result.status).name)
        self._refused = not result.ok
        return result.ok or result.status in HOPELESS


def message_of(record: Record, home: Home, properties: dict[str, str] | None = None) -> BrokerMessage:
    """A record as a new message for `home`."""
    return BrokerMessage(
        topic=home.topic,
        queue_id=home.queue_id,
        body=record.body,
        properties=decode_properties(record.properties) if properties is None else properties,
        born_timestamp=record.born_timestamp,
        born_host=record.born_host,
        flag=record.flag,
        sys_flag=record.sys_flag,
        reconsume_times=record.reconsume_times,
    )


def origins(store: MessageStore, topic: str, key: str, since_ms: int) -> list[int]:
    """Where the records are from which messages of this topic, with this unique key, were made since then."""
    found = store.reader.query(topic, key, _MAX_FOUND, since_ms, _END_OF_TIME)
    return [each.prepared_transaction_offset for each in found]
