"""The JSON files of `config/`, under RocketMQ's names and in its layout, read and written so that none is ever lost.

Saving writes the new text beside the old, syncs it, keeps the old file as `.bak`, renames the new one into place and
syncs the folder. Whenever the power goes, there is the old file or the new one. Loading takes the file, or its `.bak`
when the file is missing, empty or no JSON; when there is something and none of it can be read, that is StoreCorrupt
and never an empty table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from sprocketmq.atomic_file import replace_file
from sprocketmq.errors import BodyError, StoreCorrupt
from sprocketmq.protocol import java_json
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.bodies.mapping import TopicQueueMappingSerializeWrapper
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.fields import Long, wire
from sprocketmq.store.files.files import Files

_log = logging.getLogger("sprocketmq.store.files.config_files")

B = TypeVar("B")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTopics:
    """topics.json"""

    topic_config_table: Mapping[str, TopicConfig] = wire("topicConfigTable", default_factory=dict)
    data_version: DataVersion = wire("dataVersion", default_factory=DataVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionGroups:
    """subscriptionGroup.json; the forbidden table says by group and topic which bits are switched off."""

    subscription_group_table: Mapping[str, SubscriptionGroupConfig] = wire(
        "subscriptionGroupTable", default_factory=dict
    )
    forbidden_table: Mapping[str, Mapping[str, int]] = wire("forbiddenTable", default_factory=dict)
    data_version: DataVersion = wire("dataVersion", default_factory=DataVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedOffsets:
    """consumerOffset.json: `topic@group` to the offset of each queue. The map of topics is derived from it."""

    offset_table: Mapping[str, Mapping[int, Long]] = wire("offsetTable", default_factory=dict)
    group_topic_map: Mapping[str, tuple[str, ...]] = wire("groupTopicMap", default_factory=dict)
    data_version: DataVersion = wire("dataVersion", default_factory=DataVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayOffsets:
    """delayOffset.json: delay level to the queue offset that is delivered next."""

    offset_table: Mapping[int, Long] = wire("offsetTable", default_factory=dict)
    data_version: DataVersion = wire("dataVersion", default_factory=DataVersion)


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomBits:
    bit_num: int = wire("bitNum", default=0)
    bit_pos: tuple[int, ...] = wire("bitPos", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFilter:
    """One group's SQL92 subscription; `dead` since it was last seen at `dead_time`."""

    consumer_group: str = wire("consumerGroup", default="")
    topic: str = wire("topic", default="")
    expression: str = wire("expression", default="")
    expression_type: str = wire("expressionType", default="")
    born_time: Long = wire("bornTime", default=0)
    dead_time: Long = wire("deadTime", default=0)
    client_version: Long = wire("clientVersion", default=0)
    bloom_filter_data: BloomBits | None = wire("bloomFilterData", default=None)
    dead: bool = wire("dead", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFilters:
    topic: str = wire("topic", default="")
    group_filter_data: Mapping[str, ConsumerFilter] = wire("groupFilterData", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFilters:
    """consumerFilter.json"""

    filter_data_by_topic: Mapping[str, TopicFilters] = wire("filterDataByTopic", default_factory=dict)


class ConfigFile(Generic[B]):
    """One file of `config/`, with its `.bak`."""

    def __init__(self, files: Files, path: Path, decode: Callable[[bytes], B], encode: Callable[[B], bytes]) -> None:
        self.path, self.backup = path, path.with_name(f"{path.name}.bak")
        self.decode, self.encode = decode, encode
        self._files = files
        self._whole_size: int | None = None

    def load(self) -> B | None:
        """The content; None when there is no file. StoreCorrupt when there is one and none of it can be read."""
        return first_readable(self.path, map(self._read, (self.path, self.backup)), self.decode)

    def save(self, content: B) -> None:
        self.write(self.encode(content))

    def write(self, data: bytes) -> None:
        """Replace the file by this text."""
        whole = self._is_whole()
        self._whole_size = None  # unless all of this succeeds, the next time looks
        # a damaged file must not push a good one out of `.bak`
        replace_file(self.path, data, self._files, backup=self.backup if whole else None)
        self._whole_size = len(data)

    def _read(self, path: Path) -> bytes | None:
        return self._files.read_bytes(path) if self._files.exists(path) else None

    def _is_whole(self) -> bool:
        """What was written here and has its length still is whole: a large table takes seconds to read."""
        if not self._files.exists(self.path):
            return False
        if self._files.size(self.path) == self._whole_size:
            return True
        data = self._read(self.path)
        try:
            return data is not None and self.decode(data) is not None
        except BodyError:
            return False


def first_readable(path: Path | str, candidates: Iterable[bytes | None], decode: Callable[[bytes], B]) -> B | None:
    """What the first candidate holds that can be read; None when there is no candidate at all."""
    reason = ""
    for data in candidates:
        if data is None:
            continue
        try:
            found = decode(data)
        except BodyError as error:
            reason = reason or str(error)
            continue
        if reason:
            _log.warning("%s cannot be read (%s); its .bak is taken, which may be older", path, reason)
        return found
    if not reason:
        return None
    raise StoreCorrupt(path, 0, f"neither it nor its .bak can be read ({reason}); move both away to begin without")


def json_object(data: bytes) -> dict[str, Any]:
    found = java_json.loads(data)
    if not isinstance(found, dict):
        raise BodyError("not a JSON object")
    return found


def json_file(files: Files, path: Path, *, pretty: bool = True) -> ConfigFile[dict[str, Any]]:
    """Any other file, such as consumerOrderInfo.json; `pretty=False` for those in one line, such as timermetrics."""
    return ConfigFile(files, path, json_object, java_json.dumps_pretty if pretty else java_json.dumps)


def _body_file(files: Files, path: Path, kind: type[B], table: str = "") -> ConfigFile[B]:
    """One damaged bit in the name of its `table`, and a file reads as an empty one: it must have the table, or nothing
    at all.
    """

    def decode(data: bytes) -> B:
        tree = json_object(data)
        if tree and table and table not in tree:
            raise BodyError(f"it has no {table}")
        return codec.from_tree(kind, tree)

    return ConfigFile(files, path, decode, codec.encode_pretty)


def topics_file(files: Files, config: Path) -> ConfigFile[SavedTopics]:
    return _body_file(files, config / "topics.json", SavedTopics, "topicConfigTable")


def queue_mappings_file(files: Files, config: Path) -> ConfigFile[TopicQueueMappingSerializeWrapper]:
    return _body_file(files, config / "topicQueueMapping.json", TopicQueueMappingSerializeWrapper)


def subscription_groups_file(files: Files, config: Path) -> ConfigFile[SubscriptionGroups]:
    return _body_file(files, config / "subscriptionGroup.json", SubscriptionGroups, "subscriptionGroupTable")


def consumer_offsets_file(files: Files, config: Path) -> ConfigFile[SavedOffsets]:
    return _body_file(files, config / "consumerOffset.json", SavedOffsets, "offsetTable")


def delay_offsets_file(files: Files, config: Path) -> ConfigFile[DelayOffsets]:
    return _body_file(files, config / "delayOffset.json", DelayOffsets, "offsetTable")


def consumer_filters_file(files: Files, config: Path) -> ConfigFile[ConsumerFilters]:
    return _body_file(files, config / "consumerFilter.json", ConsumerFilters, "filterDataByTopic")
