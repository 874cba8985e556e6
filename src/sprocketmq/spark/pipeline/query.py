"""`query`: SQL over topics. A topic is a table of its own name; `messages` is all of a store."""

from __future__ import annotations

import re

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.protocol.names import without_namespace
from sprocketmq.spark.options.connection import Connect
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.target import ArchiveFolder
from sprocketmq.spark.schema import RECORD_COLUMNS

_WORD = re.compile(r"`([^`]+)`|([A-Za-z0-9_%|-]+)")
_COUNT = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)
#: Words by which a query takes columns that it does not name.
_UNNAMED = {"table", "natural", "pivot", "unpivot", "describe", "explain", "transform"}
ALL = "messages"


def query(
    spark: SparkSession,
    sql: str,
    *,
    nameserver: str | None = None,
    store: str | None = None,
    archive: str | None = None,
    options: dict[str, str] | None = None,
) -> DataFrame:
    """The result of `sql`; the tables it names are the topics there are. `text` is the body as a string."""
    tables = _tables(sql, nameserver, store, archive, options or {})
    columns = () if archive is not None else columns_of(sql)  # Parquet files know which columns a query needs
    try:
        return _run(spark, sql, tables, columns)
    except AnalysisException:
        if not columns:
            raise
    return _run(spark, sql, tables, ())  # what Spark says about a wrong name then lists all that there are


def _run(spark: SparkSession, sql: str, tables: dict[str, Input], columns: tuple[str, ...]) -> DataFrame:
    for name, source in tables.items():
        _with_text(source.load(spark, columns)).createOrReplaceTempView(f"`{name}`")
    return spark.sql(sql)


def _tables(
    sql: str, nameserver: str | None, store: str | None, archive: str | None, options: dict[str, str]
) -> dict[str, Input]:
    """The topics that a query mentions; `messages` is no topic of a cluster, which is read by topics."""
    mentioned = _words(sql)
    found = mentioned & set(_topics(nameserver, store, archive, options))
    tables = {topic: Input(nameserver, store, archive, (topic,), options=options) for topic in sorted(found)}
    if ALL in mentioned and nameserver is None:
        tables[ALL] = Input(None, store, archive)
    return tables


def _words(sql: str) -> set[str]:
    return {quoted or plain for quoted, plain in _WORD.findall(sql)}


def columns_of(sql: str) -> tuple[str, ...]:
    """The columns to read for a query: those it names; none, which means all, where it may take others too.

    Spark asks Python sources for every column whatever the query needs, and each costs time.
    """
    words = {word.lower() for word in _words(sql)}
    if "select" not in words or words & _UNNAMED or "*" in _COUNT.sub("", sql) or "|>" in sql:
        return ()
    named = tuple(name for name in RECORD_COLUMNS if name.lower() in words or (name == "body" and "text" in words))
    return named or ("queueOffset",)


def _with_text(frame: DataFrame) -> DataFrame:
    return frame.withColumn("text", f.col("body").cast("string")) if "body" in frame.columns else frame


def _topics(nameserver: str | None, store: str | None, archive: str | None, options: dict[str, str]) -> list[str]:
    if nameserver is not None:
        connect = Connect.to(nameserver, options)
        with connect.open() as cluster:
            return [without_namespace(connect.namespace, name) for name in cluster.topics()]
    if store is not None:
        from sprocketmq.store.view import open_source
        from sprocketmq.store.view.listing import list_topics

        return list_topics(open_source(store))
    if archive is not None:
        return ArchiveFolder(archive).topics()
    raise OptionError("nameserver / store / archive", "is where messages come from: give exactly one of them")
