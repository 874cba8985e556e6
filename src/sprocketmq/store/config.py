"""The store's settings under RocketMQ's key names.

`StoreConfig.from_properties` takes the text values of a `broker.conf` and ignores keys that are not the store's; a
value that cannot be used is a ConfigError that names its key. Sizes are bytes, intervals milliseconds, ratios percent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any

from sprocketmq.config import parse_integer
from sprocketmq.errors import ConfigError
from sprocketmq.store.files.layout import Layout
from sprocketmq.store.index.format import index_file_size
from sprocketmq.store.queue.format import ENTRY_SIZE

DEFAULT_DELAY_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
_DELAY = re.compile(r"(\d+)([smhd])")
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TRUE_FALSE = {"true": True, "false": False}


class FlushDiskType(Enum):
    ASYNC_FLUSH = "ASYNC_FLUSH"
    SYNC_FLUSH = "SYNC_FLUSH"


def key(name: str, default: Any, *, low: int | None = None, high: int | None = None, runtime: bool = False) -> Any:
    """A setting whose name in a configuration file is `name`, with its bounds; `runtime` ones change while it runs."""
    return field(default=default, metadata={"key": name, "low": low, "high": high, "runtime": runtime})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    store_path_root_dir: str = key("storePathRootDir", "")
    store_path_commit_log: str = key("storePathCommitLog", "")
    mapped_file_size_commit_log: int = key("mappedFileSizeCommitLog", 1 << 30, low=4096)
    mapped_file_size_consume_queue: int = key("mappedFileSizeConsumeQueue", 300_000 * ENTRY_SIZE, low=ENTRY_SIZE)
    enable_consume_queue_ext: bool = key("enableConsumeQueueExt", False)
    mapped_file_size_consume_queue_ext: int = key("mappedFileSizeConsumeQueueExt", 48 << 20, low=4096)
    bit_map_length_consume_queue_ext: int = key("bitMapLengthConsumeQueueExt", 64, low=1, high=32_000)
    message_index_enable: bool = key("messageIndexEnable", True)
    max_hash_slot_num: int = key("maxHashSlotNum", 5_000_000, low=1)
    max_index_num: int = key("maxIndexNum", 20_000_000, low=2)
    max_message_size: int = key("maxMessageSize", 4 << 20, low=1, high=1 << 30, runtime=True)
    max_topic_length: int = key("maxTopicLength", 127, low=1, high=255)
    flush_disk_type: FlushDiskType = key("flushDiskType", FlushDiskType.ASYNC_FLUSH)  # noqa: RUF009 - a frozen member
    sync_flush_timeout: int = key("syncFlushTimeout", 5000, low=1)
    flush_interval_commit_log: int = key("flushIntervalCommitLog", 500, low=1)
    flush_commit_log_least_pages: int = key("flushCommitLogLeastPages", 4, low=0)
    flush_commit_log_thorough_interval: int = key("flushCommitLogThoroughInterval", 10_000, low=1)
    flush_interval_consume_queue: int = key("flushIntervalConsumeQueue", 1000, low=1)
    flush_consume_queue_least_pages: int = key("flushConsumeQueueLeastPages", 2, low=0)
    flush_consume_queue_thorough_interval: int = key("flushConsumeQueueThoroughInterval", 60_000, low=1)
    transient_store_pool_enable: bool = key("transientStorePoolEnable", False)
    commit_interval_commit_log: int = key("commitIntervalCommitLog", 200, low=1)
    commit_commit_log_least_pages: int = key("commitCommitLogLeastPages", 4, low=0)
    commit_commit_log_thorough_interval: int = key("commitCommitLogThoroughInterval", 200, low=1)
    check_crc_on_recover: bool = key("checkCRCOnRecover", True)
    enabled_append_prop_crc: bool = key("enabledAppendPropCRC", False)
    max_transfer_bytes_on_message_in_memory: int = key(
        "maxTransferBytesOnMessageInMemory", 256 << 10, low=1, runtime=True
    )
    max_transfer_count_on_message_in_memory: int = key("maxTransferCountOnMessageInMemory", 32, low=1, runtime=True)
    max_transfer_bytes_on_message_in_disk: int = key("maxTransferBytesOnMessageInDisk", 64 << 10, low=1, runtime=True)
    max_transfer_count_on_message_in_disk: int = key("maxTransferCountOnMessageInDisk", 8, low=1, runtime=True)
    access_message_in_memory_max_ratio: int = key("accessMessageInMemoryMaxRatio", 40, low=0, high=100)
    access_message_in_memory_hot_ratio: int = key("accessMessageInMemoryHotRatio", 26, low=0, high=100, runtime=True)
    cold_data_flow_control_enable: bool = key("coldDataFlowControlEnable", False, runtime=True)
    cold_data_scan_enable: bool = key("coldDataScanEnable", False, runtime=True)
    data_read_ahead_enable: bool = key("dataReadAheadEnable", True, runtime=True)
    max_filter_message_size: int = key("maxFilterMessageSize", 16_000, low=1, runtime=True)
    default_query_max_num: int = key("defaultQueryMaxNum", 32, low=1, runtime=True)
    max_msgs_num_batch: int = key("maxMsgsNumBatch", 64, low=1)
    delete_when: str = key("deleteWhen", "04", runtime=True)
    file_reserved_time: int = key("fileReservedTime", 72, low=0, runtime=True)
    delete_file_batch_max: int = key("deleteFileBatchMax", 10, low=1, runtime=True)
    clean_resource_interval: int = key("cleanResourceInterval", 10_000, low=1, runtime=True)
    clean_file_forcibly_enable: bool = key("cleanFileForciblyEnable", True, runtime=True)
    disk_max_used_space_ratio: int = key("diskMaxUsedSpaceRatio", 75, low=0, high=100, runtime=True)
    disk_space_clean_forcibly_ratio: int = key("diskSpaceCleanForciblyRatio", 85, low=0, high=100, runtime=True)
    disk_space_warning_level_ratio: int = key("diskSpaceWarningLevelRatio", 90, low=0, high=100, runtime=True)
    message_delay_level: str = key("messageDelayLevel", DEFAULT_DELAY_LEVELS)
    max_mapped_queue_files: int = key("maxMappedQueueFiles", 0, low=0)

    def __post_init__(self) -> None:
        for setting in fields(self):
            check_bounds(setting.metadata, getattr(self, setting.name))
        if self.mapped_file_size_consume_queue % ENTRY_SIZE:
            whole = -(-self.mapped_file_size_consume_queue // ENTRY_SIZE) * ENTRY_SIZE
            object.__setattr__(self, "mapped_file_size_consume_queue", whole)  # as RocketMQ rounds it
        parse_delay_levels(self.message_delay_level)
        self.delete_hours  # noqa: B018 - a bad hour is an error now, not at four in the morning

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> StoreConfig:
        known = {setting.metadata["key"]: setting for setting in fields(cls)}
        values = {
            known[name].name: parse_value(name, text.strip(), type(known[name].default))
            for name, text in properties.items()
            if name in known
        }
        return cls(**values)

    @classmethod
    def runtime_keys(cls) -> frozenset[str]:
        """The keys that may be changed while the store is open."""
        return frozenset(setting.metadata["key"] for setting in fields(cls) if setting.metadata["runtime"])

    def changed(self, properties: Mapping[str, str]) -> StoreConfig:
        """This configuration with some keys replaced; unknown keys are an error here."""
        known = {setting.metadata["key"]: setting for setting in fields(self)}
        for name in properties:
            if name not in known:
                raise ConfigError(f"{name}: the store has no such key")
        return replace(
            self,
            **{
                known[name].name: parse_value(name, text, type(known[name].default))
                for name, text in properties.items()
            },
        )

    def to_properties(self) -> dict[str, str]:
        return {setting.metadata["key"]: value_text(getattr(self, setting.name)) for setting in fields(self)}

    @property
    def root(self) -> Path:
        return Path(self.store_path_root_dir) if self.store_path_root_dir else Path.home() / "store"

    @property
    def layout(self) -> Layout:
        parts = (part.strip() for part in re.split(r"[,;]", self.store_path_commit_log))
        return Layout(self.root, tuple(Path(part) for part in parts if part))

    @property
    def index_file_size(self) -> int:
        return index_file_size(self.max_hash_slot_num, self.max_index_num)

    @property
    def sync_flush(self) -> bool:
        return self.flush_disk_type is FlushDiskType.SYNC_FLUSH

    @property
    def transient_buffer(self) -> bool:
        """A write buffer and a sync acknowledgement exclude each other; the stronger promise wins."""
        return self.transient_store_pool_enable and not self.sync_flush

    @property
    def delay_level_ms(self) -> tuple[int, ...]:
        """Level n waits the (n-1)th of these."""
        return parse_delay_levels(self.message_delay_level)

    @property
    def delete_hours(self) -> frozenset[int]:
        hours = [text.strip() for text in self.delete_when.split(";") if text.strip()]
        if not all(text.isdecimal() and int(text) < 24 for text in hours):
            raise ConfigError(f"deleteWhen: {self.delete_when!r} is not a list of hours such as 04;16")
        return frozenset(map(int, hours))


def parse_value(name: str, text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return _TRUE_FALSE[text.lower()]
        if kind is int:
            return parse_integer(text)
        return kind(text)
    except (KeyError, ValueError):
        raise ConfigError(f"{name}: {text!r} is not a value it can have") from None


def value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.value if isinstance(value, Enum) else str(value)


def check_bounds(bounds: Mapping[str, Any], value: Any) -> None:
    low, high = bounds["low"], bounds["high"]
    if low is not None and value < low:
        raise ConfigError(f"{bounds['key']}: {value} is below {low}")
    if high is not None and value > high:
        raise ConfigError(f"{bounds['key']}: {value} is above {high}")


def parse_delay_levels(text: str) -> tuple[int, ...]:
    matches = [_DELAY.fullmatch(part) for part in text.split()]
    if not matches or None in matches:
        raise ConfigError(f"messageDelayLevel: {text!r} is not a list such as '1s 5m 2h'")
    return tuple(int(match[1]) * _UNIT_MS[match[2]] for match in matches if match)


def default_mapped_queue_files() -> int:
    """A quarter of the descriptors the process may open: a mapped file holds two of them."""
    import resource

    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = soft if soft != resource.RLIM_INFINITY else os.sysconf("SC_OPEN_MAX")
    return max(16, min(limit // 4, 8192))


#: Log files, indexes and tables that are being written come on top of what is open at the start.
GROWTH_FILES = 128


def open_files() -> int:
    """Descriptors that this process has open; a guess where the system does not tell."""
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return 64
