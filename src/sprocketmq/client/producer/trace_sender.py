"""How trace records travel: as messages of a producer of their own, which is not traced itself."""

from __future__ import annotations

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.message import Message
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.telemetry.trace import SendTrace

_SETTINGS = ProducerSettings(retries=1, send_timeout=5.0)


def trace_sender(instance: ClientInstance, group: str) -> SendTrace:
    sender = Sender(instance, f"_INNER_TRACE_PRODUCER-{group}", _SETTINGS)
    encoder = Encoder("", _SETTINGS)

    async def send(message: Message) -> None:
        await sender.send(encoder.single(message), sender.deadline())

    return send
