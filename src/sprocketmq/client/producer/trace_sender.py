"""How trace records travel: as messages of a producer of their own, which is not traced itself."""

from __future__ import annotations

from typing import Literal

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.message import Message
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.telemetry.trace import SendTrace, Tracer
from sprocketmq.protocol.names import TRACE_TOPIC

_SETTINGS = ProducerSettings(retries=1, send_timeout=5.0)


def tracer_of(instance: ClientInstance, group: str, trace: str | Literal[True]) -> Tracer:
    """Of a client that was made with `trace`, which may name a topic of its own."""
    return Tracer(trace_sender(instance, group), TRACE_TOPIC if trace is True else trace)


def trace_sender(instance: ClientInstance, group: str) -> SendTrace:
    sender = Sender(instance, f"_INNER_TRACE_PRODUCER-{group}", _SETTINGS)
    encoder = Encoder("", _SETTINGS)

    async def send(message: Message) -> None:
        await sender.send(encoder.single(message), sender.deadline())

    return send
