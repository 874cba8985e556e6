"""Spark reads and writes topics as DataFrames, and scans store directories; the jobs built on that are in `pipeline`.

`pip install sprocketmq[spark]` is enough for `spark.read.format("rocketmq")`: PySpark finds the packages
`pyspark_rocketmq` and `pyspark_rocketmq_store` by their names. `register` is the explicit way, and also turns filter
push-down on. A session that is built with `SESSION_CONF` reads faster:

    spark = SparkSession.builder.config(map=SESSION_CONF).getOrCreate()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SESSION_CONF", "register"]

#: Arrow in Java checks the bounds of each access, and before each value once more whether it is null. Spark asks only
#: for what is there; without these checks its JVM needs a fifth less time for a scan with all columns.
_UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
#: For the builder of a session: a JVM that runs already does not change its mind.
SESSION_CONF: dict[str, bool | float | int | str | None] = {  # as the builder has it
    "spark.driver.defaultJavaOptions": _UNCHECKED,
    "spark.executor.defaultJavaOptions": _UNCHECKED,
}


def register(spark: SparkSession) -> SparkSession:
    """Make the formats `rocketmq` and `rocketmq_store` known to a session; returns the session."""
    from sprocketmq.spark.compat import PUSHDOWN_CONF
    from sprocketmq.spark.source import RocketMQSource
    from sprocketmq.spark.store_source import RocketMQStoreSource

    spark.conf.set(PUSHDOWN_CONF, "true")
    spark.dataSource.register(RocketMQSource)
    spark.dataSource.register(RocketMQStoreSource)
    return spark
