"""Spark reads and writes topics as DataFrames, and scans store directories; the jobs built on that are in `pipeline`.

`pip install sprocketmq[spark]` is enough for `spark.read.format("rocketmq")`: PySpark finds the packages
`pyspark_rocketmq` and `pyspark_rocketmq_store` by their names. `register` is the explicit way, and also turns filter
push-down on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> SparkSession:
    """Make the formats `rocketmq` and `rocketmq_store` known to a session; returns the session."""
    from sprocketmq.spark.compat import PUSHDOWN_CONF
    from sprocketmq.spark.source import RocketMQSource
    from sprocketmq.spark.store_source import RocketMQStoreSource

    spark.conf.set(PUSHDOWN_CONF, "true")
    spark.dataSource.register(RocketMQSource)
    spark.dataSource.register(RocketMQStoreSource)
    return spark
