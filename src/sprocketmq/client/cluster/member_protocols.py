"""What an instance knows of the producers and consumers that live in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sprocketmq.client.received import ReceivedMessage
from sprocketmq.protocol import bodies
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue


class ProducerMember(Protocol):
    @property
    def group(self) -> str: ...

    def check_transaction(self, address: str, request: Command, message: ReceivedMessage) -> None:
        """A broker asks what became of a transaction. Must not wait."""
        ...


class ConsumerMember(Protocol):
    @property
    def group(self) -> str: ...

    def heartbeat(self) -> bodies.heartbeat.ConsumerData: ...

    def topics(self) -> frozenset[str]:
        """The topics whose routes must be kept fresh."""
        ...

    def rebalance_soon(self) -> None:
        """The group has changed."""
        ...

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None: ...

    def consumed_offsets(self, topic: str) -> Mapping[MessageQueue, int]: ...

    def running_info(self) -> bodies.running_info.ConsumerRunningInfo: ...

    async def consume_directly(self, message: ReceivedMessage) -> bodies.running_info.ConsumeMessageDirectlyResult: ...
