"""Pulls from offsets that are not there: told to the operator, and kept as messages of OFFSET_MOVED_EVENT.

A consumer that lagged until its messages were cleaned away, or whose offset lies behind the end, is sent to an offset
that is there: messages were skipped, or will come again. The message has the group as tag and key; its body is
    {"consumerGroup": , "messageQueue": {"brokerName": , "queueId": , "topic": }, "offsetNew": , "offsetRequest": }
"""

from __future__ import annotations

from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.offsets import OffsetMovedEvent
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import OFFSET_MOVED_TOPIC
from sprocketmq.protocol.record.properties import KEYS, TAGS
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.pull")


class MovedOffsets:
    def __init__(self, store: MessageStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def tell(self, group: str, queue: MessageQueue, asked: int, new: int) -> None:
        events.warning(
            "offset moved", group=group, topic=queue.topic, queue=queue.queue_id, asked=asked, new=new
        )  # fmt: skip
        event = OffsetMovedEvent(consumer_group=group, message_queue=queue, offset_request=asked, offset_new=new)
        BrokerMessage(
            topic=OFFSET_MOVED_TOPIC,
            queue_id=0,
            body=codec.encode(event),
            properties={KEYS: group, TAGS: group},
            born_timestamp=self._clock.now_ms(),
            born_host=self._store.appender.store_host,
        ).put_to(self._store)
