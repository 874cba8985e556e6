"""Message trace: a record of each send and each consume, itself sent as messages to a trace topic.

record := field (\x01 field)* \x02        kinds Pub, SubBefore, SubAfter; `null` stands for what is not known
RocketMQ's dashboard and `queryMsgTraceById` read it by the keys of the trace messages: the ids and keys they tell of.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sprocketmq.client.cluster.identity import local_address
from sprocketmq.client.cluster.repeated_warnings import RepeatedWarnings
from sprocketmq.client.errors import ClientError
from sprocketmq.client.message import Message
from sprocketmq.client.telemetry.hooks import ConsumeContext, SendContext
from sprocketmq.protocol.names import TRACE_TOPIC
from sprocketmq.protocol.record.properties import split_keys

log = logging.getLogger("sprocketmq.client.telemetry.trace")

FLUSH_S = 5.0
BATCH = 10
MAX_BYTES = 128_000
MAX_WAITING = 2048
DEFAULT_REGION = "DefaultRegion"

_KINDS = {"normal": 0, "batch": 0, "half": 1, "delay": 3, "order": 4}
_CONTEXT_CODES = {"success": 0, "timeout": 1, "exception": 2, "retry": 4}

SendTrace = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Record:
    text: str
    keys: tuple[str, ...]


class Tracer:
    """A hook for producers and consumers. What it cannot send in time it drops: tracing never holds messages up."""

    def __init__(self, send: SendTrace, topic: str = TRACE_TOPIC) -> None:
        self._send_message = send
        self._topic = topic
        self._waiting: deque[_Record] = deque(maxlen=MAX_WAITING)
        self._due = asyncio.Event()
        self._sending = asyncio.Lock()
        self._notices = RepeatedWarnings(log)

    # -- hooks ------------------------------------------------------------------------------------------------------

    def before_send(self, context: SendContext) -> None:
        return

    def after_send(self, context: SendContext) -> None:
        receipt = context.receipt
        if context.topic == self._topic or (receipt is None and context.error is None):
            return  # of a oneway send nobody hears what became of it, so Java writes no record either
        ids = receipt.message_id if receipt else ""
        keys = " ".join(key for message in context.messages for key in message.keys)
        tags = next((message.tag for message in context.messages if message.tag), None)
        host = f"{local_address()}:0" if receipt is None else _store_host(receipt.offset_message_id)
        self._put(
            (
                "Pub", _ms(context.started), (receipt and receipt.region_id) or DEFAULT_REGION, context.group,
                context.topic, ids, tags or "null", keys or "null", host,
                sum(len(message.body) for message in context.messages), _ms(context.ended) - _ms(context.started),
                _KINDS.get(context.kind, 0), receipt.offset_message_id if receipt else "null",
                "true" if context.error is None else "false",
            ),
            (*ids.split(","), *split_keys(keys)),
        )  # fmt: skip

    def before_consume(self, context: ConsumeContext) -> None:
        context.state["trace"] = uuid.uuid4().hex
        for message in context.messages:
            keys = " ".join(message.keys)
            self._put(
                (
                    "SubBefore", _ms(context.started), message.properties.get("MSG_REGION", DEFAULT_REGION),
                    context.group, context.state["trace"], message.message_id, message.reconsume_times, keys or "null",
                ),
                (message.message_id, *message.keys),
            )  # fmt: skip

    def after_consume(self, context: ConsumeContext) -> None:
        spent = (_ms(context.ended) - _ms(context.started)) // max(len(context.messages), 1)
        success = "true" if context.result == "success" else "false"
        for message in context.messages:
            keys = " ".join(message.keys)
            self._put(
                (
                    "SubAfter", context.state.get("trace", ""), message.message_id, spent, success, keys or "null",
                    _CONTEXT_CODES.get(context.result, 2), _ms(context.ended), context.group,
                ),
                (message.message_id, *message.keys),
            )  # fmt: skip

    # -- sending ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Send what waits every few seconds, or when a batch is full."""
        while True:
            try:
                async with asyncio.timeout(FLUSH_S):
                    await self._due.wait()
            except TimeoutError:
                pass
            self._due.clear()
            await self.flush()

    async def flush(self) -> None:
        """All that waits, in messages that do not wait for one another; also what another call has begun to send."""
        async with self._sending:
            while self._waiting:
                records = list(self._waiting)
                self._waiting.clear()
                await asyncio.gather(*(self._send(records[at : at + BATCH]) for at in range(0, len(records), BATCH)))

    async def _send(self, records: list[_Record]) -> None:
        body = "".join(record.text for record in records).encode()[:MAX_BYTES]
        keys = dict.fromkeys(key for record in records for key in record.keys if key)
        try:
            await self._send_message(Message(self._topic, body, keys=list(keys)))
        except ClientError as error:
            self._notices.tell("lost", "trace records were not sent records=%d error=%s", len(records), error)

    def _put(self, fields: tuple[object, ...], keys: tuple[str, ...]) -> None:
        if len(self._waiting) == MAX_WAITING:
            self._notices.tell("dropped", "trace records are dropped: they come faster than they are sent")
        self._waiting.append(_Record("\x01".join(str(field) for field in fields) + "\x02", keys))
        if len(self._waiting) >= BATCH:
            self._due.set()


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def _store_host(offset_message_id: str) -> str:
    """`ip:port` out of the first id of a receipt; `null` when it does not name one."""
    first = offset_message_id.partition(",")[0]
    if len(first) != 32:
        return "null"
    raw = bytes.fromhex(first)
    return f"{'.'.join(map(str, raw[:4]))}:{int.from_bytes(raw[4:8], 'big')}"
