"""The queues of this consumer: what the group's strategy gives it, taken up and let go as the group changes."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from sprocketmq.client.cluster.group_members import group_members
from sprocketmq.client.cluster.repeated_warnings import RepeatedWarnings
from sprocketmq.client.errors import ClientError, NoRoute
from sprocketmq.client.push.context import Running
from sprocketmq.client.push.locks import LockRequests
from sprocketmq.client.push.process_queue import ProcessQueue
from sprocketmq.client.push.pull_loop import PullLoop
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.names import is_retry_topic

log = logging.getLogger("sprocketmq.client.push.rebalance")


class Consumption(Protocol):
    """How handlers are run: side by side, or in order."""

    def start(self) -> None: ...

    def arrived(self, queue: ProcessQueue) -> None: ...

    async def stop_queue(self, queue: ProcessQueue) -> None: ...


class Rebalance:
    def __init__(self, running: Running, consumption: Consumption) -> None:
        self.queues: dict[MessageQueue, ProcessQueue] = {}
        self._running, self._consumption = running, consumption
        self._locks = LockRequests(running.instance, running.group)
        self._pulls: dict[MessageQueue, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()
        self._notices = RepeatedWarnings(log)

    @property
    def _locking(self) -> bool:
        return self._running.orderly and not self._running.broadcasting

    async def run(self) -> bool:
        """Bring every topic's queues in line; False when some could not be had yet and another try should come soon."""
        async with self._one_at_a_time:
            wanted = self._running.subscriptions
            await self._let_go([
                queue for queue, process in self.queues.items() if process.dropped or queue.topic not in wanted
            ])  # fmt: skip
            settled = [await self._topic(topic) for topic in list(self._running.subscriptions)]
        return all(settled)

    async def renew_locks(self) -> None:
        """A queue whose lock is lost stays assigned but is not consumed until the lock is ours again.

        A broker that refuses has given the lock to somebody else: that counts at once. One that does not answer may
        still keep it for us, so the lock counts until its life ends.
        """
        ours, refused = await self._locks.lock(self.queues)
        for queue, process in self.queues.items():
            if queue in ours:
                process.lock()
            elif queue in refused:
                process.unlock()
                log.warning("lock lost queue=%s", queue)

    async def reset(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        """Go on from other offsets, as an operator wants it."""
        async with self._one_at_a_time:
            own = {queue: offset for queue, offset in offsets.items() if queue.topic == topic and queue in self.queues}
            await self._let_go(list(own), keep_locks=True)
            for queue, offset in own.items():
                self._running.store.note(queue, offset)
            await self._running.store.persist(list(own))
            for queue in own:
                self._take_up(queue)

    async def stop(self) -> None:
        """Pull no more, let running handlers end, commit, and give the locks back.

        Handlers and commit share the grace of the stop; a commit has at least one try.
        """
        loop, grace = asyncio.get_running_loop(), self._running.settings.stop_timeout
        deadline = loop.time() + grace
        async with self._one_at_a_time:
            for task in self._pulls.values():
                task.cancel()
            queues = list(self.queues.values())
            for queue in queues:
                queue.drop(abandon=False)
            try:
                async with asyncio.timeout_at(deadline):
                    await asyncio.gather(*(queue.settled() for queue in queues))
            except TimeoutError:
                log.warning("handlers still run after %g s, they are left behind", grace)
            for queue in queues:
                self._running.settle(queue, ())
            await self._running.store.persist(last_within=max(deadline - loop.time(), 0.0))
            if self._locking:
                await self._locks.unlock(self.queues)
            self.queues.clear()

    # -- inside -----------------------------------------------------------------------------------------------------

    async def _topic(self, topic: str) -> bool:
        try:
            mine = await self._allocate(topic)
        except ClientError as error:
            self._not_yet(topic, error)
            return False
        self._notices.over(topic)
        return await self._update(topic, mine)

    def _not_yet(self, topic: str, error: ClientError) -> None:
        if is_retry_topic(topic) and isinstance(error, NoRoute):
            log.debug("no retry topic yet topic=%s", topic)  # brokers make it with the first heartbeat
            return
        self._notices.tell(
            topic, "nothing to consume yet, it is tried again group=%s topic=%s error=%s",
            self._running.group, topic, error,
        )  # fmt: skip

    async def _allocate(self, topic: str) -> set[MessageQueue]:
        running = self._running
        route = await running.instance.routes.get(topic)
        if running.broadcasting:
            return set(route.read_queues)
        members = sorted(await group_members(running.instance, running.group, route))
        return set(running.settings.allocation(running.instance.client_id, route.read_queues, members))

    async def _update(self, topic: str, mine: set[MessageQueue]) -> bool:
        held = {queue for queue in self.queues if queue.topic == topic}
        await self._let_go(sorted(held - mine))
        wanted = sorted(mine - held)
        ours = (await self._locks.lock(wanted))[0] if self._locking and wanted else set(wanted)
        for queue in wanted:
            if queue in ours:
                self._take_up(queue)
        return len(ours) == len(wanted)

    def _take_up(self, queue: MessageQueue) -> None:
        process = self.queues[queue] = ProcessQueue(queue)
        if self._locking:
            process.lock()
        loop = PullLoop(self._running, process, self._consumption.arrived)
        self._pulls[queue] = self._running.tasks.spawn(loop.run(), f"pull {queue}")
        log.info("queue assigned group=%s queue=%s", self._running.group, queue)

    async def _let_go(self, queues: list[MessageQueue], *, keep_locks: bool = False) -> None:
        if not queues:
            return
        processes = [self.queues.pop(queue) for queue in queues]
        for queue in queues:
            self._pulls.pop(queue).cancel()
        await asyncio.gather(*(self._consumption.stop_queue(process) for process in processes))
        await self._running.store.persist(queues, last_within=0.0)
        for queue in queues:
            self._running.store.forget(queue)
            log.info("queue let go group=%s queue=%s", self._running.group, queue)
        if self._locking and not keep_locks:
            await self._locks.unlock(queues)
