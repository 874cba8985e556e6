"""The data source `rocketmq`: topics as DataFrames, both ways.

    >>> orders = spark.readStream.format("rocketmq").option("subscribe", "orders").load()
    >>> totals.writeStream.format("rocketmq").option("topic", "totals").option("checkpointLocation", DIR).start()

`options.source` and `options.sink` list the options.
"""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from sprocketmq.spark.options.options import Options
from sprocketmq.spark.options.source import SOURCE_OPTIONS, SourceOptions, default_columns
from sprocketmq.spark.schema import spark_schema
from sprocketmq.spark.short_errors import one_line


class RocketMQSource(DataSource):
    """Spark makes one in each process that plans or runs a part of the query, from the options alone."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq"

    @one_line
    def schema(self) -> StructType:
        return spark_schema(default_columns(Options(self.options, SOURCE_OPTIONS)))

    @one_line
    def reader(self, schema: StructType) -> DataSourceReader:
        from sprocketmq.spark.read.batch import BatchReader

        return BatchReader(SourceOptions.of(self.options, streaming=False), schema)

    @one_line
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from sprocketmq.spark.read.stream import stream_reader

        return stream_reader(SourceOptions.of(self.options, streaming=True), schema)

    @one_line
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from sprocketmq.spark.options.sink import SinkOptions
        from sprocketmq.spark.write.sink import batch_writer

        return batch_writer(SinkOptions.of(self.options, streaming=False), schema, overwrite)

    @one_line
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from sprocketmq.spark.options.sink import SinkOptions
        from sprocketmq.spark.write.sink import stream_writer

        return stream_writer(SinkOptions.of(self.options, streaming=True), schema, overwrite)
