"""The config files' part of a check."""

from __future__ import annotations

from collections.abc import Iterator

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.names import SCHEDULE_TOPIC
from sprocketmq.store.offline.verify_findings import Finding
from sprocketmq.store.view import configs
from sprocketmq.store.view.store import StoreView


def check_config(view: StoreView) -> Iterator[Finding]:
    present = {entry.name for entry in view.source.entries("config")}
    readable = set()
    for name in configs.CONFIG_FILES:
        if not {name, f"{name}.bak"} & present:
            continue
        try:
            configs.read_config(view.source, name)
            readable.add(name)
        except StoreCorrupt as error:
            yield Finding(f"config/{name}", error.offset, error.reason)
    if "topics.json" in readable:
        yield from _check_topics(view)
    if "consumerOffset.json" in readable:
        yield from _check_consumer_offsets(view)
    if "delayOffset.json" in readable:
        yield from _check_delay_offsets(view)


def _check_topics(view: StoreView) -> Iterator[Finding]:
    known = configs.topic_names(view.source) or set()
    for topic in sorted({topic for topic, _ in view.queues} - known):
        yield Finding("config/topics.json", 0, f"it does not know {topic}, which has messages")


def _check_consumer_offsets(view: StoreView) -> Iterator[Finding]:
    for key, queues in (configs.consumer_offsets(view.source) or {}).items():
        topic, _, group = key.partition("@")
        for queue_id, offset in queues.items():
            yield from _check_offset(view, "consumerOffset.json", f"group {group}", topic, int(queue_id), offset)


def _check_delay_offsets(view: StoreView) -> Iterator[Finding]:
    for level, offset in (configs.delay_offsets(view.source) or {}).items():
        yield from _check_offset(view, "delayOffset.json", f"level {level}", SCHEDULE_TOPIC, int(level) - 1, offset)


def _check_offset(view: StoreView, name: str, who: str, topic: str, queue_id: int, offset: int) -> Iterator[Finding]:
    queue = view.queues.get((topic, queue_id))
    end = queue.max_offset if queue else 0
    if not 0 <= offset <= end:
        yield Finding(f"config/{name}", 0, f"{who} is at {offset} of {topic}/{queue_id}, which ends at {end}")
