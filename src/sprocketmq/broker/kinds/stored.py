"""Messages that rest in a system topic until they go to their own: how they get there and back.

On the way in, REAL_TOPIC and REAL_QID note where a message belongs. Back in its own topic it keeps its properties as
they are, these two included, as RocketMQ leaves them.
"""

from __future__ import annotations

from typing import NamedTuple

from sprocketmq.broker.message import Message
from sprocketmq.protocol import names
from sprocketmq.protocol.properties import REAL_QUEUE_ID, REAL_TOPIC, decode_properties
from sprocketmq.protocol.record import Record
from sprocketmq.store.append import PutStatus

#: A put that is refused so will be refused again: the message itself is at fault.
HOPELESS = frozenset({PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED})


class Home(NamedTuple):
    """Where a message belongs."""

    topic: str
    queue_id: int


def redirect(message: Message, topic: str, queue_id: int) -> None:
    """Send a message to rest in `topic`."""
    message.properties[REAL_TOPIC] = message.topic
    message.properties[REAL_QUEUE_ID] = str(message.queue_id)
    message.topic = topic
    message.queue_id = queue_id


def home_of(properties: dict[str, str]) -> Home | None:
    """None for a message that does not say, or says what cannot be."""
    topic, queue_id = properties.get(REAL_TOPIC, ""), properties.get(REAL_QUEUE_ID, "")
    if names.topic_fault(topic) is not None or not queue_id.isdecimal() or not queue_id.isascii():
        return None
    return Home(topic, int(queue_id))


def message_of(record: Record, home: Home, properties: dict[str, str] | None = None) -> Message:
    """A record as a new message for `home`."""
    return Message(
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
