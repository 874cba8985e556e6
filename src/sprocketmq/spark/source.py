"""The data source `rocketmq`: topics as DataFrames, both ways.

    >>> orders = spark.readStream.format("rocketmq").option("subscribe", "orders").load()
    >>> totals.writeStream.format("rocketmq").option("topic", "totals").option("checkpointLocation", DIR).start()

`source_options` and `sink_options` list the options.
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

from sprocketmq.spark.options import Options
from sprocketmq.spark.schema import spark_schema
from sprocketmq.spark.source_options import SOURCE_OPTIONS, SourceOptions, default_columns


class RocketMQSource(DataSource):
    """Spark makes one in each process that plans or runs a part of the query, from the options alone."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq"

    def schema(self) -> StructType:
        return spark_schema(default_columns(Options(self.options, SOURCE_OPTIONS)))

    def reader(self, schema: StructType) -> DataSourceReader:
        from sprocketmq.spark.batch import BatchReader

        return BatchReader(SourceOptions.of(self.options, streaming=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from sprocketmq.spark.stream import stream_reader

        return stream_reader(SourceOptions.of(self.options, streaming=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from sprocketmq.spark.sink import batch_writer
        from sprocketmq.spark.sink_options import SinkOptions

        return batch_writer(SinkOptions.of(self.options, streaming=False), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from sprocketmq.spark.sink import stream_writer
        from sprocketmq.spark.sink_options import SinkOptions

        return stream_writer(SinkOptions.of(self.options, streaming=True), schema, overwrite)
