"""POP consumption: acknowledgements in bulk, and who consumes which queue how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sprocketmq.protocol.enums import MessageModel, MessageRequestMode
from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.message_queue import MessageQueue

_BYTE_WITH_BITS = re.compile(rb"[^\0]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAck:
    consumer_group: str = wire("c", default="")
    topic: str = wire("t", default="")
    retry: str | None = wire("r", default=None)
    start_offset: Long = wire("so", default=0)
    queue_id: int = wire("q", default=0)
    revive_queue_id: int = wire("rq", default=0)
    pop_time: Long = wire("pt", default=0)
    invisible_time: Long = wire("it", default=0)
    bit_set: bytes = wire("b", default=b"")

    @property
    def count(self) -> int:
        return int.from_bytes(self.bit_set, "little").bit_count()

    def offsets(self) -> Iterator[int]:
        """The queue offsets that are acknowledged: bit n, counted from the lowest of each byte, is start_offset + n."""
        for found in _BYTE_WITH_BITS.finditer(self.bit_set):
            first, byte = self.start_offset + 8 * found.start(), found[0][0]
            yield from (first + bit for bit in range(8) if byte >> bit & 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAckMessageRequestBody:
    broker_name: str = wire("brokerName", default="")
    acks: tuple[BatchAck, ...] = wire("acks", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAssignmentRequestBody:
    topic: str = wire("topic", default="")
    consumer_group: str = wire("consumerGroup", default="")
    client_id: str = wire("clientId", default="")
    strategy_name: str | None = wire("strategyName", default=None)
    message_model: MessageModel | None = wire("messageModel", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueueAssignment:
    message_queue: MessageQueue | None = wire("messageQueue", default=None)
    mode: MessageRequestMode | None = wire("mode", default=None)
    attachments: Mapping[str, str] = wire("attachments", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAssignmentResponseBody:
    message_queue_assignments: tuple[MessageQueueAssignment, ...] = wire("messageQueueAssignments", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMessageRequestModeRequestBody:
    topic: str = wire("topic", default="")
    consumer_group: str = wire("consumerGroup", default="")
    mode: MessageRequestMode = wire("mode", default=MessageRequestMode.PULL)
    pop_share_queue_num: int = wire("popShareQueueNum", default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRequestModeSerializeWrapper:
    message_request_mode_map: Mapping[str, Mapping[str, SetMessageRequestModeRequestBody]] = wire(
        "messageRequestModeMap", default_factory=dict
    )
