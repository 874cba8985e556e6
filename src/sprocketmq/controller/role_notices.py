"""Tells the living brokers of a set who was elected: 1008, one way, over connections of the controller's own.

A broker that misses it finds out when it next asks. Of several notices to one address only the newest is still sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from sprocketmq.codes import RequestCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import reign, set_body
from sprocketmq.errors import RemotingError
from sprocketmq.logs import Events
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import RemotingClient

events = Events("sprocketmq.controller.notices")


class Notices:
    def __init__(self, client: RemotingClient) -> None:
        self._client = client
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self.sent = 0

    def send(self, record: BrokerSet, living: Iterable[int]) -> None:
        alive = frozenset(living)
        for replica in record.replicas:
            if replica.broker_id in alive and replica.address:
                self._start(replica.address, record)

    async def stop(self) -> None:
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, address: str, record: BrokerSet) -> None:
        if (older := self._under_way.get(address)) is not None:
            older.cancel()
        task = self._under_way[address] = asyncio.get_running_loop().create_task(self._tell(address, record))
        task.add_done_callback(lambda done: self._done(address, done))

    def _done(self, address: str, task: asyncio.Task[None]) -> None:
        if self._under_way.get(address) is task:
            del self._under_way[address]

    async def _tell(self, address: str, record: BrokerSet) -> None:
        notice = Command(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, ext_fields=reign(record), body=set_body(record))
        try:
            await self._client.oneway(address, notice)
            self.sent += 1
        except RemotingError as error:
            events.warning("broker not told of an election", broker=record.name, address=address, reason=error)
