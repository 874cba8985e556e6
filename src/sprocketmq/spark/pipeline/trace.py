"""The trace topic as rows: one per record, of the kinds Pub, SubBefore and SubAfter.

record := field (\\x01 field)* \\x02
Pub        kind time region group topic uniqKey tags keys storeHost bodyLength cost messageType offsetId success
SubBefore  kind time region group requestId uniqKey retries keys
SubAfter   kind requestId uniqKey cost success keys contextCode [time group]
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from sprocketmq.protocol.names import TRACE_TOPIC

SEPARATOR, END = "\x01", "\x02"


def trace_records(messages: DataFrame) -> DataFrame:
    """`kind` and `fields` of every record in the bodies of trace messages."""
    text = f.explode(f.split(f.col("body").cast("string"), END)).alias("record")
    return (
        messages.select(text)
        .where("record != ''")
        .select(
            f.split("record", SEPARATOR).alias("fields"), f.element_at(f.split("record", SEPARATOR), 1).alias("kind")
        )
    )


def _at(place: int) -> Column:
    return f.get("fields", f.lit(place))


def sends(messages: DataFrame) -> DataFrame:
    """Successful sends: one row per message, also of a batch, whose ids are joined by commas."""
    records = trace_records(messages).where("kind = 'Pub'").where(_at(13) == "true")
    return records.select(
        f.explode(f.split(_at(5), ",")).alias("uniqKey"), _at(4).alias("topic"), _at(3).alias("group"),
        _at(1).cast("long").alias("time"), _at(10).cast("long").alias("cost"),
    )  # fmt: skip


def consumptions(messages: DataFrame) -> DataFrame:
    """Every end of a consumption, with the group and time of its beginning."""
    records = trace_records(messages)
    before = records.where("kind = 'SubBefore'").select(
        _at(4).alias("request"), _at(5).alias("uniqKey"), _at(3).alias("group"), _at(1).cast("long").alias("begun")
    )
    after = records.where("kind = 'SubAfter'").select(
        _at(1).alias("request"), _at(2).alias("uniqKey"), _at(3).cast("long").alias("cost"),
        (_at(4) == "true").alias("success"),
    )  # fmt: skip
    return after.join(before, ["request", "uniqKey"])


def sent_of(messages: DataFrame) -> DataFrame:
    """uniqKey and sentTimes, from messages themselves or from the trace of their sends."""
    is_trace = messages.where(f.col("topic") == TRACE_TOPIC).limit(1).count() > 0
    keys = sends(messages) if is_trace else messages.where("uniqKey is not null")
    return keys.groupBy("uniqKey").agg(f.count("*").alias("sentTimes"))


def consumed_of(trace: DataFrame, group: str) -> DataFrame:
    own = consumptions(trace).where((f.col("group") == group) & f.col("success"))
    return own.groupBy("uniqKey").agg(f.count("*").alias("consumedTimes"))
