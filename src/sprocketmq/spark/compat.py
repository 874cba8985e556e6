"""What differs between the versions of PySpark that we run on, and nothing else.

since   what                                                              without it
4.1     DataSourceStreamArrowWriter                                       rows, gathered into batches here
4.1     pushFilters, when spark.sql.python.filterPushdown.enabled is set  Spark filters what we return
4.2     latestOffset(start, limit), ReadLimit, SupportsTriggerAvailableNow  the reader remembers its last answer
4.2     to_arrow_schema(timezone=...)                                     times are in UTC unless one asks otherwise

Table formats are released for one version of Spark each, `TABLE_FORMATS`.

Spark 4.3 keeps the plan of a pushed filter with its DataFrame: a later query without filters over it misses rows. So
push-down is an option of ours, for a DataFrame that serves one query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql import datasource
from pyspark.sql.pandas.types import to_arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

PUSHDOWN_CONF = "spark.sql.python.filterPushdown.enabled"
ROWS_PER_BATCH = 10_000
#: (format, Spark) -> the package that brings it. Where there is none yet, a user may know of one.
TABLE_FORMATS = {
    ("delta", "4.1"): "io.delta:delta-spark_4.1_2.13:4.4.0",
    ("delta", "4.2"): "io.delta:delta-spark_4.2_2.13:4.4.0",
    ("iceberg", "4.1"): "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
}

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable as ReadAllAvailable
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as SupportsTriggerAvailableNow

    HAS_ADMISSION_CONTROL = True
except ImportError:  # before 4.2
    HAS_ADMISSION_CONTROL = False

    class ReadAllAvailable:  # type: ignore[no-redef]
        pass

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        pass


def package_of(format: str) -> str | None:
    """The Maven package of a table format for the Spark that runs."""
    return TABLE_FORMATS.get((format, ".".join(pyspark.__version__.split(".")[:2])))


def arrow_schema(schema: Any) -> pa.Schema:
    """The Arrow types that Spark takes for a schema, with times in UTC."""
    utc: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **utc)


class PushFilters:
    """A reader's `pushFilters` that is there when Spark asks for it, and is not held against us when it does not.

    Spark refuses to plan a reader that overrides `pushFilters` while its switch is off, and the reader cannot see the
    switch. What it compares is `__func__`; so with the switch off this passes for the method of the base class.
    """

    def __init__(self, push: Callable[[Iterable[Any]], Iterable[Any]]) -> None:
        self._push = push

    @property
    def __func__(self) -> Any:
        return getattr(datasource.DataSourceReader, "pushFilters", None)

    def __call__(self, filters: Iterable[Any]) -> Iterable[Any]:
        return self._push(filters)


if hasattr(datasource, "DataSourceStreamArrowWriter"):
    StreamArrowWriter: Any = datasource.DataSourceStreamArrowWriter

    def as_batches(iterator: Iterator[Any], schema: Any) -> Iterator[pa.RecordBatch]:
        """What a stream writer is given, as batches."""
        return iterator
else:
    StreamArrowWriter = datasource.DataSourceStreamWriter

    def as_batches(iterator: Iterator[Any], schema: Any) -> Iterator[pa.RecordBatch]:
        from itertools import islice

        import pyarrow as pa

        target = arrow_schema(schema)
        while rows := list(islice(iterator, ROWS_PER_BATCH)):
            yield pa.RecordBatch.from_pylist([row.asDict() for row in rows], schema=target)
