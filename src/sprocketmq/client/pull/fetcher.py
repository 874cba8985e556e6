"""One task per assigned queue that keeps its buffer filled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.cluster.pull_request import OutgoingPull, PullStatus, pull
from sprocketmq.client.cluster.route import MASTER
from sprocketmq.client.errors import ClientError, Refused
from sprocketmq.client.pull.buffer import QueueBuffer
from sprocketmq.client.settings import PullSettings
from sprocketmq.codes import ResponseCode

log = logging.getLogger("sprocketmq.client.pull.fetcher")

_FLOW_CONTROL_S = 0.02


class Fetcher:
    def __init__(
        self, instance: ClientInstance, group: str, settings: PullSettings, buffer: QueueBuffer,
        arrived: Callable[[], None],
    ) -> None:  # fmt: skip
        self._instance, self._group, self._settings = instance, group, settings
        self._buffer, self._arrived = buffer, arrived
        self._broker_id = MASTER

    async def run(self) -> None:
        while True:
            await self._room()
            try:
                await self._fetch()
            except ClientError as error:
                await self._pause(error)

    async def _room(self) -> None:
        buffer = self._buffer
        while buffer.paused or buffer.size_bytes >= self._settings.buffer_bytes:
            buffer.changed.clear()
            await buffer.changed.wait()

    async def _fetch(self) -> None:
        buffer, settings = self._buffer, self._settings
        epoch = buffer.epoch
        request = OutgoingPull(
            buffer.queue, buffer.fetch_offset, buffer.subscription, settings.pull_batch, settings.pull_batch_bytes,
            settings.long_poll,
        )  # fmt: skip
        buffer.fetching = asyncio.ensure_future(pull(self._instance, self._group, request, self._broker_id))
        try:
            result = await buffer.fetching
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if epoch == buffer.epoch or (task is not None and task.cancelling()):
                raise
            return  # a seek has taken its place
        finally:
            buffer.fetching = None
        self._broker_id = result.suggested_broker_id
        if result.status is PullStatus.OFFSET_MOVED and epoch == buffer.epoch:
            log.warning("offset moved queue=%s from=%d to=%d", buffer.queue, request.offset, result.next_offset)
            buffer.seek(result.next_offset)
        elif buffer.put(result, epoch):
            self._arrived()

    async def _pause(self, error: ClientError) -> None:
        if isinstance(error, Refused) and error.code == ResponseCode.FLOW_CONTROL:
            await asyncio.sleep(_FLOW_CONTROL_S)
            return
        log.info("pull failed queue=%s error=%s", self._buffer.queue, error)
        self._broker_id = MASTER
        self._instance.heartbeat_soon()
        self._instance.refresh_soon()
        await asyncio.sleep(self._settings.retry_pause)
