"""POP consumption: the broker hands messages out one by one and hides each until it is acknowledged.

No queue belongs to a consumer, so there is nothing to rebalance: every member of the group pops from every broker, and
a slow or dead member holds up its own messages only. A message that is not acknowledged in time comes again.
"""

from __future__ import annotations

import asyncio
import logging
import time

from sprocketmq.client.cluster import unreadable_records
from sprocketmq.client.cluster.repeated_warnings import RepeatedWarnings
from sprocketmq.client.cluster.requests import header_of
from sprocketmq.client.errors import ClientError, Refused, is_unknown_code
from sprocketmq.client.push.context import Running
from sprocketmq.client.push.handlers import HandlerOutcome
from sprocketmq.client.push.pop_handles import PopHandle, handles_of
from sprocketmq.client.push.retries import retry_delay
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import is_retry_topic

log = logging.getLogger("sprocketmq.client.push.pop")

ANY_QUEUE = -1
_EMPTY = frozenset({
    int(ResponseCode.PULL_NOT_FOUND), int(ResponseCode.PULL_RETRY_IMMEDIATELY), int(ResponseCode.POLLING_TIMEOUT),
    int(ResponseCode.POLLING_FULL),
})  # fmt: skip


class PopConsumption:
    """One task per topic and broker."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._loops: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(running.settings.concurrency)
        self._in_hand = 0
        self._changed = asyncio.Event()
        self._stopping = False
        self._notices = RepeatedWarnings(log)

    async def run(self) -> bool:
        """See to it that every broker of every topic is popped from."""
        for (topic, _), task in self._loops.items():
            if topic not in self._running.subscriptions:
                task.cancel()
        complete = True
        for topic in list(self._running.subscriptions):
            if is_retry_topic(topic):
                continue  # the broker mixes what comes again into the topic's own pops
            try:
                route = await self._running.instance.routes.get(topic)
            except ClientError as error:
                self._notices.tell(
                    topic, "nothing to consume yet, it is tried again group=%s topic=%s error=%s",
                    self._running.group, topic, error,
                )  # fmt: skip
                complete = False
                continue
            self._notices.over(topic)
            for broker_name in {queue.broker_name for queue in route.read_queues}:
                self._pop_from(topic, broker_name)
        return complete

    async def stop(self) -> None:
        """Pop no more and let running handlers acknowledge."""
        self._stopping = True
        for task in self._loops.values():
            task.cancel()
        try:
            async with asyncio.timeout(self._running.settings.stop_timeout):
                while self._in_hand:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            log.warning("handlers still run; their messages come again")

    def _pop_from(self, topic: str, broker_name: str) -> None:
        key = topic, broker_name
        if key not in self._loops:
            task = self._running.tasks.spawn(self._loop(topic, broker_name), f"pop {topic}@{broker_name}")
            self._loops[key] = task
            task.add_done_callback(lambda _: self._loops.pop(key, None))

    async def _loop(self, topic: str, broker_name: str) -> None:
        settings = self._running.settings
        while not self._stopping:
            await self._running.active.wait()
            while self._in_hand >= settings.pop_limit:
                self._changed.clear()
                await self._changed.wait()
            try:
                await self._pop(topic, broker_name)
            except ClientError as error:
                level = logging.ERROR if is_unknown_code(error) else logging.INFO
                log.log(level, "pop failed topic=%s broker=%s error=%s", topic, broker_name, error)
                self._running.instance.refresh_soon()
                await asyncio.sleep(settings.retry_pause)
            except Exception:
                log.exception("pop failed topic=%s broker=%s", topic, broker_name)
                await asyncio.sleep(settings.retry_pause)

    async def _pop(self, topic: str, broker_name: str) -> None:
        running, settings = self._running, self._running.settings
        queue = MessageQueue(topic, broker_name, ANY_QUEUE)
        subscription = running.subscriptions[topic]
        header = PopMessageRequestHeader(
            consumer_group=running.group,
            topic=topic,
            queue_id=ANY_QUEUE,
            max_msg_nums=settings.pop_batch,
            invisible_time=int(settings.pop_invisible * 1000),
            poll_time=int(settings.long_poll * 1000),
            born_time=time.time_ns() // 1_000_000,
            init_mode=0 if settings.consume_from == "first" else 1,
            exp_type=subscription.kind,
            exp=subscription.expression,
            order=False,
            bname=broker_name,
        )
        address = await running.instance.address_of(queue)
        timeout = settings.long_poll + running.instance.options.request_timeout
        answer = await running.instance.ask(address, RequestCode.POP_MESSAGE, header, timeout=timeout)
        if answer.code in _EMPTY:
            return
        if answer.code != ResponseCode.SUCCESS:
            raise Refused(answer.code, answer.remark, address)
        messages, _ = unreadable_records.split(answer.body, queue, -1, -1)
        whole = unreadable_records.readable(
            messages, queue
        )  # what is passed over is not acknowledged: the broker decides
        found = handles_of(header_of(PopMessageResponseHeader, answer), whole, broker_name)
        for message, handle in found:
            self._hand_out(message, handle, topic)

    def _hand_out(self, message: ReceivedMessage, handle: PopHandle, topic: str) -> None:
        self._in_hand += 1
        task = self._running.tasks.spawn(self._consume(message, handle, topic, time.monotonic()), "popped message")
        task.add_done_callback(lambda _: self._put_down())

    def _put_down(self) -> None:
        self._in_hand -= 1
        self._changed.set()

    async def _consume(self, message: ReceivedMessage, handle: PopHandle, topic: str, received: float) -> None:
        running = self._running
        async with self._slots:
            if time.monotonic() - received >= handle.invisible_ms / 1000:
                log.warning("message waited too long for a handler, it comes again message=%r", message)
                return  # the broker has given it to somebody else by now
            subscription = running.subscriptions.get(topic)
            if subscription is None:
                return  # nobody here wants it any more: it comes again, to others
            if not subscription.select([message]):
                outcome = HandlerOutcome("success")  # the broker compared hashes; this one is not wanted
            else:
                outcome = await running.consume([message], message.queue)
        try:
            await (self._ack(handle, topic) if outcome.ok else self._put_off(message, handle, topic, outcome))
        except ClientError as error:
            log.info("message not settled, it comes again message=%r error=%s", message, error)

    async def _ack(self, handle: PopHandle, topic: str) -> None:
        header = AckMessageRequestHeader(
            consumer_group=self._running.group,
            topic=handle.topic(self._running.group, topic),
            queue_id=handle.queue_id,
            extra_info=str(handle),
            offset=handle.queue_offset,
            bname=handle.broker_name,
        )
        await self._call(handle, topic, RequestCode.ACK_MESSAGE, header)

    async def _put_off(self, message: ReceivedMessage, handle: PopHandle, topic: str, outcome: HandlerOutcome) -> None:
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=self._running.group,
            topic=handle.topic(self._running.group, topic),
            queue_id=handle.queue_id,
            extra_info=str(handle),
            offset=handle.queue_offset,
            invisible_time=retry_delay(message.reconsume_times, outcome.level) * 1000,
            bname=handle.broker_name,
        )
        await self._call(handle, topic, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)

    async def _call(self, handle: PopHandle, topic: str, code: int, header: object) -> None:
        queue = MessageQueue(topic, handle.broker_name, handle.queue_id)
        await self._running.instance.call(await self._running.instance.address_of(queue), code, header)
