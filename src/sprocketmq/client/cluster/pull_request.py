"""Pull requests: messages of one queue from an offset on, and what the broker says of the queue's ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from sprocketmq.client.cluster.static_topics import in_logical_queue
from sprocketmq.client.errors import Refused, Unreachable
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.client.subscription import Subscription
from sprocketmq.codes import RequestCode, ResponseCode, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.requests.pull import COMMIT_OFFSET, MAX_BYTES, SUBSCRIPTION, SUSPEND

if TYPE_CHECKING:
    from sprocketmq.client.cluster.instance import ClientInstance


class PullStatus(Enum):
    """What a broker makes of an offset."""

    FOUND = ResponseCode.SUCCESS
    NO_NEW_MESSAGE = ResponseCode.PULL_NOT_FOUND
    NO_MATCH = ResponseCode.PULL_RETRY_IMMEDIATELY
    OFFSET_MOVED = ResponseCode.PULL_OFFSET_MOVED


_STATUS = {int(status.value): status for status in PullStatus}


@dataclass(frozen=True, slots=True)
class PullResult:
    """`data` is records back to back; `next_offset` is where the next pull begins."""

    status: PullStatus
    queue: MessageQueue
    next_offset: int
    min_offset: int
    max_offset: int
    suggested_broker_id: int
    data: bytes

    def messages(self) -> list[ReceivedMessage]:
        return split_records(self.data, self.queue.broker_name)


@dataclass(frozen=True, slots=True)
class OutgoingPull:
    queue: MessageQueue
    offset: int
    subscription: Subscription
    max_messages: int = 32
    max_bytes: int = MAX_BYTES
    suspend: float = 0.0  # seconds the broker may wait for a message
    commit_offset: int | None = None
    tell_subscription: bool = True  # False relies on the subscription of the last heartbeat
    bulk: bool = False  # a broker of ours then gives more than consumers get

    def command(self, group: str) -> Command:
        subscription = self.subscription
        flags = SUBSCRIPTION if self.tell_subscription else 0
        flags |= SUSPEND if self.suspend > 0 else 0
        flags |= COMMIT_OFFSET if self.commit_offset is not None else 0
        ext = {
            "consumerGroup": group,
            "topic": self.queue.topic,
            "queueId": str(self.queue.queue_id),
            "queueOffset": str(self.offset),
            "maxMsgNums": str(self.max_messages),
            "sysFlag": str(flags),
            "commitOffset": str(self.commit_offset or 0),
            "suspendTimeoutMillis": str(int(self.suspend * 1000)),
            "subVersion": str(subscription.version),
            "expressionType": subscription.kind,
            "maxMsgBytes": str(self.max_bytes),
            "bname": self.queue.broker_name,
        }
        if self.tell_subscription:
            ext["subscription"] = subscription.expression
            ext["subVersion"] = "0"
        if self.bulk:
            ext["bulk"] = "1"
        return Command(RequestCode.PULL_MESSAGE, ext_fields=ext, serialize_type=SerializeType.ROCKETMQ)


async def pull(instance: ClientInstance, group: str, asked: OutgoingPull, broker_id: int = 0) -> PullResult:
    """One pull. Raises Refused for anything but the four statuses."""
    address = await instance.address_of(asked.queue, broker_id)
    timeout = (
        instance.options.request_timeout + 2 * asked.suspend
    )  # a broker looks at its parked pulls every few seconds
    answer = await instance.transport.call(address, asked.command(group), timeout)
    status = _STATUS.get(answer.code)
    ext = answer.ext_fields or {}
    if status is None or "nextBeginOffset" not in ext:
        raise Refused(answer.code, answer.remark, address)
    following = int(ext["nextBeginOffset"])
    if is_for_master(status, asked.offset, following):
        raise Unreachable(asked.queue.broker_name, f"its slave {address} does not have offset {asked.offset}")
    return PullResult(
        status,
        asked.queue,
        following,
        int(ext["minOffset"]),
        int(ext["maxOffset"]),
        int(ext.get("suggestWhichBrokerId", 0)),
        records_of(answer, asked.queue) if status is PullStatus.FOUND else b"",
    )


def is_for_master(status: PullStatus, asked: int, following: int) -> bool:
    """Whether a slave leaves it to its master, who is away, to say what is at an offset: then to ask again at once, as
    the answer says, gains nothing.
    """
    return status is PullStatus.NO_MATCH and following == asked


def records_of(answer: Command, queue: MessageQueue) -> bytes:
    """What a pull has brought; of a logical queue, with the places in it."""
    delta = (answer.ext_fields or {}).get("offsetDelta")
    return answer.body if not delta else in_logical_queue(answer.body, queue.queue_id, int(delta))
