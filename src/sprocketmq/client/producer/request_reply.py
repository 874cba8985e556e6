"""Messages that are questions: the sender waits, the consumer answers, and the broker carries the answer back."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

from sprocketmq.client.arguments import check_timeout
from sprocketmq.client.cluster.identity import unique_key
from sprocketmq.client.cluster.replies import Reply
from sprocketmq.client.errors import InvalidMessage, NoRoute
from sprocketmq.client.message import Message
from sprocketmq.client.producer.encoder import now_ms, property_text
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.telemetry.hooks import kind_of
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.properties import (
    CLUSTER,
    CORRELATION_ID,
    MESSAGE_TYPE,
    REPLY_TO_CLIENT,
    TTL,
    UNIQUE_KEY,
    encode_properties,
)
from sprocketmq.protocol.requests.send_frame import Payload

if TYPE_CHECKING:
    from sprocketmq.client.producer.producer import Producer

_MOST_MS = (1 << 63) - 1  # what clients of RocketMQ read as a time; an endless one is at most that
_COPIED = (CORRELATION_ID, REPLY_TO_CLIENT, TTL)


async def request(producer: Producer, message: Message, timeout: float) -> Reply:
    check_timeout(timeout)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    instance, sender = producer.instance, producer.sender
    correlation_id = str(uuid.uuid4())
    own = {
        CORRELATION_ID: correlation_id,
        REPLY_TO_CLIENT: instance.client_id,
        TTL: str(int(max(0, min(timeout * 1000, _MOST_MS)))),
    }
    future = instance.pushed.replies.expect(correlation_id)
    try:
        with sender.hooks.observed(message.topic, (message,), kind_of(message)) as context:
            payload = producer.encoder.single(message, property_text(context.properties | own))
            await sender.route(payload.topic, deadline)
            await instance.greet_new()  # the reply comes back only through a broker that knows us
            context.receipt = await sender.send(payload, deadline)
        return await instance.pushed.replies.wait(future, deadline - loop.time(), timeout)
    finally:
        future.cancel()


async def reply(sender: Sender, asked: ReceivedMessage, body: bytes, deadline: float) -> None:
    """Send the answer to the broker that the question came from, for its sender is connected there."""
    if not isinstance(asked, ReceivedMessage):
        raise TypeError(f"request must be a ReceivedMessage, not {type(asked).__name__}")
    properties = asked.properties
    if CORRELATION_ID not in properties or CLUSTER not in properties:
        raise InvalidMessage("the message does not ask for a reply")
    topic = f"{properties[CLUSTER]}_REPLY_TOPIC"
    key = unique_key()
    own = {UNIQUE_KEY: key, MESSAGE_TYPE: "reply", **{name: properties[name] for name in _COPIED if name in properties}}
    with sender.hooks.observed(topic, (Message(topic, body),), "reply") as context:
        text = encode_properties(context.properties | own).encode()
        payload = Payload(topic, body, text, code=RequestCode.SEND_REPLY_MESSAGE_V2, unique_key=key, born_ms=now_ms())
        route = await sender.route(topic, deadline)
        if asked.broker_name not in route.write_counts:
            raise NoRoute(topic, f"broker {asked.broker_name} does not take replies")
        context.receipt = await sender.send(payload, deadline, MessageQueue(topic, asked.broker_name, 0))
