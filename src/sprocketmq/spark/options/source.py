"""The options of the format `rocketmq`, as a source. Names are those of Spark's Kafka source where it has them.

option                              default             meaning
nameserver                          $NAMESRV_ADDR       host:port, several separated by ;
subscribe                                               topics, separated by commas
subscribePattern                                        a regular expression over whole topic names
assign                                                  {"topic": {"broker": [0, 1]}}; exactly one of the three
startingOffsets                     latest, batch: earliest   earliest, latest, committed, or JSON offsets
startingTimestamp                                       milliseconds or a date and time, for all queues
startingOffsetsByTimestamp                              {"topic": {"broker": {"0": 1700000000000}}}
startingOffsetsByTimestampStrategy  error               error or latest: when nothing is that new
endingOffsets, endingTimestamp, endingOffsetsByTimestamp      batch only; latest
minPartitions, maxRecordsPerPartition                   how queues are cut into tasks
maxOffsetsPerTrigger, maxBytesPerTrigger                limits of one micro-batch; bytes are estimated from a sample
minOffsetsPerTrigger, maxTriggerDelay   15m             wait for so many messages, but not longer
failOnDataLoss                      true                fail, or go on, when unread messages are gone
tags, sql                           *                   filters that the broker applies: 'A || B', or SQL92
group, groupIdPrefix                spark-...           the consumer group; a `group` gets progress committed
pushdown                            false               let Spark's filters narrow a batch read; see compat
columns                             18                  names of columns, separated by commas
includeHeaders                      true                false leaves the column properties out
pullBatchSize                       4096                messages asked for in one pull
pollTimeoutMs                       120000              how long a task waits for a silent broker
kafkaConsumer.pollTimeoutMs                             the same, for those who come from Kafka
fetchOffset.numRetries, fetchOffset.retryIntervalMs   10, 100   for offsets and routes; the interval doubles
accessKey, secretKey, securityToken                     ACL
tls, tlsCaFile, tlsCertFile, tlsKeyFile, tlsKeyPassword, tlsVerify, tlsCheckHostname      TLS
namespace                                               of topics and groups
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sprocketmq.errors import FilterError
from sprocketmq.filter.sql import compile_sql
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.connection import CONNECTION_OPTIONS, Connect
from sprocketmq.spark.options.offset_maps import EARLIEST, LATEST, Offsets, decode_offsets, decode_queues
from sprocketmq.spark.options.options import OptionError, Options
from sprocketmq.spark.schema import DEFAULT_COLUMNS

SOURCE_OPTIONS = (
    *CONNECTION_OPTIONS,
    "subscribe", "subscribePattern", "assign", "startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy", "endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp",
    "minPartitions", "maxRecordsPerPartition", "maxOffsetsPerTrigger", "maxBytesPerTrigger", "minOffsetsPerTrigger",
    "maxTriggerDelay", "failOnDataLoss", "tags", "sql", "groupIdPrefix", "columns", "pullBatchSize", "pushdown",
    "pollTimeoutMs", "kafkaConsumer.pollTimeoutMs", "includeHeaders",
)  # fmt: skip
_ENDING = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")


@dataclass(frozen=True)
class TopicSelection:
    """Which queues: of these topics, of topics that match, or exactly these."""

    names: tuple[str, ...] = ()
    pattern: str | None = None
    queues: tuple[MessageQueue, ...] = ()

    def matches(self, topic: str) -> bool:
        return self.pattern is not None and re.fullmatch(self.pattern, topic) is not None


@dataclass(frozen=True)
class Place:
    """Where to begin or end: a word, offsets per queue, a time, or times per queue. Exactly one is set."""

    option: str
    word: str | None = None
    offsets: tuple[tuple[MessageQueue, int], ...] = ()
    timestamp: int | None = None
    timestamps: tuple[tuple[MessageQueue, int], ...] = ()


@dataclass(frozen=True)
class SourceOptions:
    """The options, checked. Plain data that travels to the executors."""

    connect: Connect
    topics: TopicSelection
    start: Place
    end: Place
    latest_if_too_new: bool
    min_partitions: int | None
    max_records: int | None
    max_offsets: int | None
    max_bytes: int | None
    min_offsets: int | None
    max_delay_ms: int
    fail_on_data_loss: bool
    tags: str
    sql: str | None
    group: str
    commits: bool
    columns: tuple[str, ...]
    pull_batch: int
    patience: float
    pushdown: bool

    @classmethod
    def of(cls, given: Mapping[str, str], *, streaming: bool) -> SourceOptions:
        options = Options(given, SOURCE_OPTIONS)
        if streaming:
            options.refuse(_ENDING, "is for batch queries: a stream has no end")
        options.only_one_of("tags", "sql")
        options.only_one_of("group", "groupIdPrefix")
        minimum, maximum = options.integer("minOffsetsPerTrigger"), options.integer("maxOffsetsPerTrigger")
        if minimum and maximum and minimum > maximum:
            raise OptionError("minOffsetsPerTrigger", f"is more than maxOffsetsPerTrigger: {minimum} > {maximum}")
        return cls(
            connect=Connect.of(options),
            topics=_topics(options),
            start=_starting(options, streaming),
            end=_place(options, "ending", "latest"),
            latest_if_too_new=options.choice("startingOffsetsByTimestampStrategy", ("error", "latest"), "error")
            == "latest",
            min_partitions=options.integer("minPartitions"),
            max_records=options.integer("maxRecordsPerPartition"),
            max_offsets=maximum,
            max_bytes=options.integer("maxBytesPerTrigger"),
            min_offsets=minimum,
            max_delay_ms=options.duration_ms("maxTriggerDelay", "15m"),
            fail_on_data_loss=options.boolean("failOnDataLoss", True),
            tags=options.text("tags") or "*",
            sql=_sql(options),
            group=options.text("group") or f"{options.text('groupIdPrefix') or 'spark'}-source",
            commits="group" in options,
            columns=default_columns(options),
            pull_batch=options.integer("pullBatchSize", 4096) or 4096,
            patience=_patience(options),
            pushdown=options.boolean("pushdown", False),
        )


def default_columns(options: Options) -> tuple[str, ...]:
    """What a reader gets who gives no schema."""
    headers = options.boolean("includeHeaders", True)
    return options.names("columns") or tuple(name for name in DEFAULT_COLUMNS if headers or name != "properties")


def _sql(options: Options) -> str | None:
    """Brokers apply it; that it is an expression at all is known before any task starts."""
    text = options.text("sql")
    try:
        if text is not None:
            compile_sql(text)
    except FilterError as error:
        raise OptionError("sql", f"is no filter: {error}") from None
    return text


def _patience(options: Options) -> float:
    options.only_one_of("pollTimeoutMs", "kafkaConsumer.pollTimeoutMs")
    name = "kafkaConsumer.pollTimeoutMs" if "kafkaConsumer.pollTimeoutMs" in options else "pollTimeoutMs"
    return (options.integer(name, 120_000) or 120_000) / 1000


def _topics(options: Options) -> TopicSelection:
    chosen = options.exactly_one("subscribe", "subscribePattern", "assign")
    if chosen == "subscribe":
        return TopicSelection(names=options.names("subscribe"))
    if chosen == "assign":
        return TopicSelection(queues=tuple(decode_queues(options.json("assign"), "assign")))
    pattern = options.required("subscribePattern", "")
    try:
        re.compile(pattern)
    except re.error as error:
        raise OptionError("subscribePattern", f"is not a regular expression: {error}") from None
    return TopicSelection(pattern=pattern)


def _starting(options: Options, streaming: bool) -> Place:
    place = _place(options, "starting", "latest" if streaming else "earliest")
    if not streaming and (place.word == "latest" or LATEST in dict(place.offsets).values()):
        raise OptionError(place.option, "cannot be latest in a batch query: nothing would be read")
    if place.word == "committed" and "group" not in options:
        raise OptionError(place.option, "committed needs the option 'group'")
    return place


def _place(options: Options, prefix: str, default: str) -> Place:
    names = (f"{prefix}Offsets", f"{prefix}Timestamp", f"{prefix}OffsetsByTimestamp")
    options.only_one_of(*names)
    by_offset, by_time, by_times = names
    if by_time in options:
        return Place(by_time, timestamp=options.timestamp_ms(by_time))
    if by_times in options:
        return Place(by_times, timestamps=_pairs(decode_offsets(options.json(by_times), by_times)))
    text = options.text(by_offset) or default
    if text.lstrip().startswith("{"):
        return _offsets_place(by_offset, options.json(by_offset))
    words = ("earliest", "latest", "committed") if prefix == "starting" else ("latest",)
    return Place(by_offset, word=options.choice(by_offset, words, default))


def _offsets_place(name: str, given: Any) -> Place:
    offsets = decode_offsets(given, name)
    if any(offset < EARLIEST for offset in offsets.values()):
        raise OptionError(name, "has an offset below -2; -2 is the earliest and -1 the latest")
    if name.startswith("ending") and EARLIEST in offsets.values():
        raise OptionError(name, "cannot be the earliest: nothing would be read")
    return Place(name, offsets=_pairs(offsets))


def _pairs(offsets: Offsets) -> tuple[tuple[MessageQueue, int], ...]:
    return tuple(sorted(offsets.items()))
