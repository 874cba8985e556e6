"""Messages that could not be consumed go back to the broker, which delivers them again later and at last to the DLQ.

The broker waits 10 s, 30 s, 1 min ... 2 h from try to try. When it does not take a message back, the client itself
sends it to the group's retry topic; when that fails too, the message stays in hand and is tried again here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from sprocketmq.client.cluster.identity import unique_key
from sprocketmq.client.cluster.instance import INNER_PRODUCER, ClientInstance
from sprocketmq.client.errors import ClientError
from sprocketmq.client.producer.encoder import now_ms
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.headers.send_back import ConsumerSendMsgBackRequestHeader
from sprocketmq.protocol.names import retry_topic
from sprocketmq.protocol.record.properties import DELAY, ORIGIN_MESSAGE_ID, RETRY_TOPIC, UNIQUE_KEY, encode_properties
from sprocketmq.protocol.record.sysflag import BODY_MASK
from sprocketmq.protocol.requests.send_frame import Payload

log = logging.getLogger("sprocketmq.client.push.retries")

MAX_TRIES = 16
UNLIMITED = 2**31 - 1
#: Seconds of the delay levels, from 1 on.
DELAYS = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
_FIRST_LEVEL = 3
_SEND_BACK_S = 5.0


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """What becomes of a message that failed: by a group's own rules, where a broker counts, or here in order."""

    max_reconsume_times: int  # negative: no limit
    suspend: float | None = None  # of an orderly consumer, which tries again here
    broadcasting: bool = False

    def outlook(self, message: ReceivedMessage, level: int) -> tuple[str, str]:
        """Which try this was, and when the next one comes."""
        done, most = message.reconsume_times, self.max_reconsume_times
        tries = f"{done + 1} of {most + 1}" if 0 <= most < UNLIMITED else f"{done + 1}"
        if self.broadcasting:
            return tries, "never"
        if level < 0 or 0 <= most <= done:
            return tries, "dead-letter queue"
        if self.suspend is not None:
            return tries, f"{self.suspend:g}s"
        return tries, f"{retry_delay(done, level)}s"


def retry_delay(done: int, level: int = 0) -> int:
    """Seconds until a message comes again that was tried `done` times before, or was put off by `level`."""
    return DELAYS[min(level if level > 0 else _FIRST_LEVEL + done, len(DELAYS)) - 1]


class SendBack:
    """Returns messages for one group."""

    def __init__(self, instance: ClientInstance, group: str, max_reconsume_times: int) -> None:
        self._instance, self._group, self._max = instance, group, max_reconsume_times
        self._sender = Sender(instance, INNER_PRODUCER, ProducerSettings(send_timeout=_SEND_BACK_S))

    async def __call__(self, message: ReceivedMessage, level: int = 0) -> bool:
        """Whether the broker has it again."""
        try:
            await self._return(message, level)
        except ClientError as error:
            log.info("send back refused message=%r error=%s", message, error)
        else:
            return True
        try:
            await self._resend(message)
        except ClientError as error:
            log.warning("message could not be returned, it stays here message=%r error=%s", message, error)
            return False
        return True

    async def _return(self, message: ReceivedMessage, level: int) -> None:
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.record.commit_offset,
            group=self._group,
            delay_level=level,
            origin_msg_id=message.offset_message_id,
            origin_topic=message.stored_topic,
            max_reconsume_times=self._max,
            bname=message.broker_name,
        )
        address = await self._instance.address_of(message.queue)
        await self._instance.call(address, RequestCode.CONSUMER_SEND_MSG_BACK, header, timeout=_SEND_BACK_S)

    async def _resend(self, message: ReceivedMessage) -> None:
        tries = message.reconsume_times + 1
        properties = {
            **message.properties,
            RETRY_TOPIC: message.full_topic,
            ORIGIN_MESSAGE_ID: message.properties.get(ORIGIN_MESSAGE_ID, message.offset_message_id),
            DELAY: str(_FIRST_LEVEL + message.reconsume_times),
        }
        payload = Payload(
            retry_topic(self._group), message.record.body, encode_properties(properties).encode(),
            unique_key=message.properties.get(UNIQUE_KEY) or unique_key(), born_ms=now_ms(), flag=message.record.flag,
            sys_flag=message.record.sys_flag & BODY_MASK, reconsume_times=tries, max_reconsume_times=self._max,
        )  # fmt: skip
        await self._sender.send(payload, self._sender.deadline())
