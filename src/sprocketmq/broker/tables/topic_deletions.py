"""Deleting the queues of topics beside the loop: whoever wants it done is told when it is on disk.

An administrator deletes topics and cleans up unused ones, and a slave follows its master. One deletion comes after the
other, whoever asked for it: each writes the whole file of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from sprocketmq.store.files.deleted_topics import Deletion
from sprocketmq.store.queue.deletion import TopicDeletion
from sprocketmq.store.store import MessageStore


class TopicDeletions:
    """`on_noted` is told of each queue that is about to go: those who wait for its messages look once more."""

    def __init__(self, store: MessageStore) -> None:
        self.on_noted: list[Callable[[str, int], object]] = []
        self._store = store
        self._deleting = asyncio.Lock()

    async def delete(self, topics: Sequence[str]) -> None:
        async with self._deleting:
            deletion = await self._noted(topics)
            while not deletion.finish():  # a message that had waited came to its topic
                deletion = await self._noted(topics)
            await asyncio.to_thread(deletion.sync)

    def missing(self, told: Mapping[str, Deletion]) -> dict[str, Deletion]:
        """Those of a master's deletions that are not followed here yet. One before the log has no records to hide."""
        known, begin = self._store.deleted.table, self._store.log.min_offset
        return {topic: at for topic, at in told.items() if known.get(topic) != at and at.commit_offset > begin}

    async def follow(self, told: Mapping[str, Deletion]) -> None:
        """For a slave that has the log of them: delete what its master has deleted, where it has deleted it."""
        async with self._deleting:
            missing = self.missing(told)
            for at in sorted(set(missing.values())):
                await self._follow([topic for topic, each in missing.items() if each == at], at)

    async def _follow(self, topics: Sequence[str], at: Deletion) -> None:
        """Topics of these names may have come since, and their first messages been taken for known ones: what lies
        behind the place is dispatched once more.
        """
        deletion = await self._noted(topics, at)
        deletion.finish()
        dispatcher = self._store.dispatcher
        dispatcher.dispatched_offset = min(dispatcher.dispatched_offset, at.commit_offset)
        self._store.dispatch_ready()
        await asyncio.to_thread(deletion.sync)

    async def _noted(self, topics: Sequence[str], at: Deletion | None = None) -> TopicDeletion:
        """Those who wait for messages are told when the queues have gone, in the turn that comes after."""
        deletion = self._store.deletion(*topics, at=at)
        await asyncio.to_thread(deletion.write)
        for topic in topics:
            for queue_id in self._store.queues.of_topic(topic):
                for hook in self.on_noted:
                    hook(topic, queue_id)
        return deletion
