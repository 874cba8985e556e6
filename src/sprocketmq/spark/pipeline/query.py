"""`query`: SQL over topics. A topic is a table of its own name; `messages` is all of a store."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from sprocketmq.spark.connection import Connect
from sprocketmq.spark.options import OptionError
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.target import ArchiveFolder

_WORD = re.compile(r"`([^`]+)`|([A-Za-z0-9_%|-]+)")
ALL = "messages"


def query(
    spark: SparkSession,
    sql: str,
    *,
    nameserver: str | None = None,
    store: str | None = None,
    archive: str | None = None,
) -> DataFrame:
    """The result of `sql`; the tables it names are the topics there are. `text` is the body as a string."""
    mentioned = {quoted or plain for quoted, plain in _WORD.findall(sql)}
    for topic in sorted(mentioned & set(_topics(nameserver, store, archive))):
        source = Input(nameserver, store, archive, topics=(topic,))
        _with_text(source.load(spark)).createOrReplaceTempView(f"`{topic}`")
    if ALL in mentioned and nameserver is None:
        _with_text(Input(None, store, archive).load(spark)).createOrReplaceTempView(ALL)
    return spark.sql(sql)


def _with_text(frame: DataFrame) -> DataFrame:
    return frame.withColumn("text", f.col("body").cast("string"))


def _topics(nameserver: str | None, store: str | None, archive: str | None) -> list[str]:
    if nameserver is not None:
        with Connect((nameserver,)).open() as cluster:
            return cluster.topics()
    if store is not None:
        from sprocketmq.store.view import open_source
        from sprocketmq.store.view.listing import list_topics

        return list_topics(open_source(store))
    if archive is not None:
        return ArchiveFolder(archive).topics()
    raise OptionError("nameserver / store / archive", "is where messages come from: give exactly one of them")
