"""`spark.read.format("rocketmq_store").load(DIR)`: the CommitLog of a store as a DataFrame, without a broker.

    option              default   meaning
    path                          one directory or several, local or of any filesystem that pyarrow opens
    topics              all       names, separated by commas; read through their queues, so only their bytes are touched
    tags                all       names, separated by commas; found by the hashes in the queues, as `topics` are
    queueIds            all       numbers, separated by commas
    startingTimestamp             stored at this time or later: milliseconds or a date and time
    endingTimestamp               stored before this time
    startingPhysicalOffset        stored at this place of the log or after it
    pushdown            false     let Spark's filters narrow what is read; for a DataFrame that serves one query
    columns             18        names of columns, separated by commas; a schema does the same
    damage              fail      what to do about damaged places: fail, skip, or column (a row with the reason)
    verifyChecksums               whether the CRC of every body is checked; by default when bodies are read anyway
    minPartitions                 at least so many tasks, where there are that many records
    brokerName                    what to put into the column brokerName
    statsPath                     a folder for one JSON file per task: rowsScanned, bytesScanned, rowsReturned

    >>> df = spark.read.format("rocketmq_store").option("topics", "orders").load("/var/lib/rocketmq")
    >>> df.groupBy("tags").count().show()

With `pushdown` true (and `spark.sql.python.filterPushdown.enabled`, which `sprocketmq.spark.register` sets) filters on
topic, queueId, queueOffset, commitLogOffset, storeTimestamp and tags narrow what is read; `compat` says why one has to
ask for it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from sprocketmq.spark.compat import PushFilters
from sprocketmq.spark.options.options import OptionError, Options
from sprocketmq.spark.read.pushdown import Narrowing, narrow
from sprocketmq.spark.schema import DEFAULT_COLUMNS, NULLS, TYPES, check_schema, record_columns, shaped, spark_schema
from sprocketmq.spark.short_errors import one_line
from sprocketmq.spark.worker.gc_tuning import settle

if TYPE_CHECKING:
    import pyarrow as pa

    from sprocketmq.store.view import Split
    from sprocketmq.store.view.scan_batches import ScanStats

OPTIONS = (
    "path", "paths", "topics", "tags", "queueIds", "startingTimestamp", "endingTimestamp",
    "startingPhysicalOffset", "pushdown", "columns", "damage",
    "verifyChecksums", "minPartitions", "brokerName", "statsPath",
)  # fmt: skip


@dataclass(frozen=True)
class StoreOptions:
    """The options, checked."""

    paths: tuple[str, ...]
    narrowing: Narrowing
    columns: tuple[str, ...]
    damage: str
    verify_checksums: bool | None
    min_partitions: int
    broker_name: str | None
    stats_path: str | None
    pushdown: bool

    @property
    def nulls(self) -> Collection[str]:
        return TYPES if self.damage == "column" else NULLS

    @classmethod
    def of(cls, given: Mapping[str, str]) -> StoreOptions:
        options = Options(given, OPTIONS)
        damage = options.choice("damage", ("fail", "skip", "column"), "fail")
        return cls(
            paths=_paths(options),
            narrowing=_narrowing(options),
            columns=options.names("columns") or DEFAULT_COLUMNS + (("damage",) if damage == "column" else ()),
            damage=damage,
            verify_checksums=options.boolean("verifyChecksums", True) if "verifyChecksums" in options else None,
            min_partitions=options.integer("minPartitions", 1) or 1,
            broker_name=options.text("brokerName"),
            stats_path=options.text("statsPath"),
            pushdown=options.boolean("pushdown", False),
        )


def _paths(options: Options) -> tuple[str, ...]:
    given = options.json("paths") if "paths" in options else [options.required("path", "load(DIR) names the store")]
    if not isinstance(given, list) or not given:
        raise OptionError("paths", "is a JSON list of directories")
    return tuple(str(path).removeprefix("file://") for path in given)


def _narrowing(options: Options) -> Narrowing:
    found = Narrowing()
    if topics := options.names("topics"):
        found = found.only("topics", topics)
    if tags := options.names("tags"):
        found = found.only("tags", tags)
    if queue_ids := options.names("queueIds"):
        if not all(text.isdecimal() for text in queue_ids):
            raise OptionError("queueIds", f"is a list of numbers, not {','.join(queue_ids)!r}")
        found = found.only("queue_ids", map(int, queue_ids))
    place = options.integer("startingPhysicalOffset", 0, least=0) or 0
    found = found.within("commitLogOffset", place, found.end_physical)
    begin, end = options.timestamp_ms("startingTimestamp"), options.timestamp_ms("endingTimestamp")
    return found.within("storeTimestamp", begin or 0, found.end_time if end is None else end)


class RocketMQStoreSource(DataSource):
    """The data source `rocketmq_store`."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq_store"

    @one_line
    def schema(self) -> StructType:
        options = StoreOptions.of(self.options)
        return spark_schema(options.columns, options.nulls)

    @one_line
    def reader(self, schema: StructType) -> DataSourceReader:
        return StoreReader(StoreOptions.of(self.options), schema)


@dataclass
class StorePartition(InputPartition):
    """One piece of one store."""

    path: str
    split: Split


class StoreReader(DataSourceReader):
    def __init__(self, options: StoreOptions, schema: StructType) -> None:
        check_schema(schema, options.nulls)
        self._options, self._schema = options, schema
        self._narrowing = options.narrowing
        if options.pushdown:
            self.pushFilters = PushFilters(self._push)  # type: ignore[method-assign]

    def _push(self, filters: Iterable[Any]) -> Iterable[Any]:
        self._narrowing = narrow(self._narrowing, filters)
        return filters

    @one_line
    def partitions(self) -> Sequence[InputPartition]:
        from sprocketmq.store.view import plan_splits

        if self._narrowing.nothing:
            return []
        share = -(-self._options.min_partitions // len(self._options.paths))
        selection = self._narrowing.selection()
        return [
            StorePartition(path, split)
            for path in self._options.paths
            for split in plan_splits(path, selection, at_least=share)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor. Spark makes up a partition of its own when there is none."""
        if not isinstance(partition, StorePartition):
            return iter(())
        settle()
        return shaped(self._batches(partition), self._schema, brokerName=self._options.broker_name)

    def _batches(self, partition: StorePartition) -> Iterator[pa.RecordBatch]:
        from sprocketmq.store.view.scan_batches import DAMAGE, OnDamage, Scan, ScanStats

        columns = record_columns(self._schema.fieldNames())
        scan = Scan(
            partition.path,
            self._narrowing.selection(),
            (*(columns or ("queueOffset",)), DAMAGE),
            cast(OnDamage, self._options.damage),
            self._check_crc(columns),
        )
        stats = ScanStats()
        yield from scan.read(partition.split, stats)
        if self._options.stats_path:
            write_stats(self._options.stats_path, stats)

    def _check_crc(self, columns: Sequence[str]) -> bool:
        """A body that nobody asked for is not read, unless all damage is to be shown."""
        given = self._options.verify_checksums
        return ("body" in columns or self._options.damage == "column") if given is None else given


def write_stats(folder: str, stats: ScanStats) -> None:
    """One file per task; a task that ran twice counts twice, as it read twice."""
    import orjson

    place = Path(folder.removeprefix("file://"))
    place.mkdir(parents=True, exist_ok=True)
    row = {
        "rowsScanned": stats.rows_scanned, "bytesScanned": stats.bytes_scanned,
        "rowsReturned": stats.rows_returned, "damaged": stats.damaged,
    }  # fmt: skip
    (place / f"{uuid.uuid4().hex}.json").write_bytes(orjson.dumps(row))
