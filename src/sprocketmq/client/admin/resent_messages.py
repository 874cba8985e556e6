"""A message once more: what its sender said of it, without what brokers and clients noted on its way."""

from __future__ import annotations

from sprocketmq.client.message import Message
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.protocol.record.properties import SYSTEM_PROPERTIES


def copy_of(message: ReceivedMessage, topic: str) -> Message:
    """To send to `topic`; it gets an id of its own."""
    own = {name: value for name, value in message.properties.items() if name not in SYSTEM_PROPERTIES}
    return Message(
        topic, message.body, tag=message.tag, keys=message.keys, properties=own, sharding_key=message.sharding_key
    )
