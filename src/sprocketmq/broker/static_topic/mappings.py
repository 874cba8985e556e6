"""The static topics of this broker: config/topicQueueMapping.json.

A broker knows the items of every logical queue that it leads or has led. A change comes with an epoch; an older one is
refused, and so is one that contradicts what is known, unless it is forced. Whoever must know that a change is on disk
waits for `saver`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from sprocketmq.broker.static_topic.mapping_items import Items, change_fault, items_fault
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.mapping import (
    LogicQueueMappingItem,
    TopicQueueMappingDetail,
    TopicQueueMappingSerializeWrapper,
)
from sprocketmq.protocol.bodies.route import TopicQueueMappingInfo
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import ConfigFile

events = Events("sprocketmq.broker.static_topic")


class LogicalQueue(NamedTuple):
    """One that this broker leads."""

    topic: str
    queue_id: int
    items: Items

    @property
    def leader(self) -> LogicQueueMappingItem:
        return self.items[-1]


class QueueMappings:
    def __init__(self, file: ConfigFile[TopicQueueMappingSerializeWrapper], broker_name: str, clock: Clock) -> None:
        self.details: dict[str, TopicQueueMappingDetail] = {}
        self.data_version = DataVersion(timestamp=clock.now_ms())
        #: Told of a topic whose mapping has changed.
        self.on_change: list[Callable[[str], object]] = []
        self.saver = Saver("mappings", self._take)
        self._file = file
        self._broker_name = broker_name
        self._clock = clock

    def load(self) -> None:
        kept = self._file.load()
        if kept is not None:
            self.details.update(kept.topic_queue_mapping_info_map)
            self.data_version = kept.data_version

    def queue(self, topic: str, queue_id: int) -> LogicalQueue:
        """The logical queue; refuses with NOT_LEADER_FOR_QUEUE where another broker, or none, leads it."""
        items = self.details[topic].hosted_queues.get(queue_id)
        if not items or items[-1].bname != self._broker_name:
            remark = f"broker {self._broker_name} does not lead queue {queue_id} of the static topic {topic}"
            raise RequestRefused(ResponseCode.NOT_LEADER_FOR_QUEUE, remark)
        return LogicalQueue(topic, queue_id, items)

    def put(self, detail: TopicQueueMappingDetail, *, force: bool = False) -> None:
        """Take over a mapping. Queues that it does not name stay as they are."""
        old = self.details.get(detail.topic)
        fault = self._fault(old, detail, force)
        if fault is not None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"the mapping of {detail.topic}: {fault}")
        kept = {} if old is None else old.hosted_queues
        self._set(replace(detail, hosted_queues={**kept, **detail.hosted_queues}))

    def _fault(self, old: TopicQueueMappingDetail | None, new: TopicQueueMappingDetail, force: bool) -> str | None:
        if new.bname != self._broker_name:
            return f"it is for broker {new.bname or '?'}, this is {self._broker_name}"
        for queue_id, items in new.hosted_queues.items():
            if (fault := items_fault(items)) is not None:
                return f"queue {queue_id}: {fault}"
        if old is None or force:
            return None
        if new.epoch < old.epoch:
            return f"epoch {new.epoch} is behind the known one, {old.epoch}"
        if new.scope != old.scope:
            return f"scope {new.scope} is not the known one, {old.scope}"
        return _changes_fault(old, new)

    def inherit(self, details: Mapping[str, TopicQueueMappingDetail], version: DataVersion) -> None:
        """For a slave: the same mappings as its master, and their version."""
        changed = [topic for topic in {*self.details, *details} if self.details.get(topic) != details.get(topic)]
        self.details.clear()
        self.details.update(details)
        for topic in changed:
            self._changed(topic)
        self.data_version = version

    def keep_only(self, topic: str, queues: dict[int, tuple[LogicQueueMappingItem, ...]]) -> None:
        """Replace a topic's queues by what is left of them after items that nobody can need any more."""
        self._set(replace(self.details[topic], hosted_queues=queues))

    def delete(self, topic: str) -> None:
        if self.details.pop(topic, None) is not None:
            self._changed(topic)

    def infos(self, topics: Iterable[str]) -> dict[str, TopicQueueMappingInfo]:
        """What nameservers are told: which logical queues this broker leads, and with which queue of its own."""
        return {topic: self._info(self.details[topic]) for topic in topics if topic in self.details}

    def _info(self, detail: TopicQueueMappingDetail) -> TopicQueueMappingInfo:
        led = {
            queue_id: items[-1].queue_id
            for queue_id, items in detail.hosted_queues.items()
            if items and items[-1].bname == self._broker_name
        }
        return TopicQueueMappingInfo(
            topic=detail.topic,
            scope=detail.scope,
            total_queues=detail.total_queues,
            bname=detail.bname,
            epoch=detail.epoch,
            curr_id_map=led,
        )

    def _set(self, detail: TopicQueueMappingDetail) -> None:
        self.details[detail.topic] = detail
        self._changed(detail.topic)
        events.info("mapping put", topic=detail.topic, epoch=detail.epoch, queues=len(detail.hosted_queues))

    def _changed(self, topic: str) -> None:
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.soon()
        for hook in self.on_change:
            hook(topic)

    def _take(self) -> Callable[[], None]:
        return partial(
            self._file.save,
            TopicQueueMappingSerializeWrapper(
                topic_queue_mapping_info_map=self.details.copy(), data_version=self.data_version
            ),
        )


def _changes_fault(old: TopicQueueMappingDetail, new: TopicQueueMappingDetail) -> str | None:
    same_epoch = new.epoch == old.epoch
    for queue_id, items in old.hosted_queues.items():
        coming = new.hosted_queues.get(queue_id)
        if coming is None:
            fault = "it is missing, but the epoch has not changed" if same_epoch else None
        else:
            fault = change_fault(items, coming, same_epoch=same_epoch)
        if fault is not None:
            return f"queue {queue_id}: {fault}"
    return None
