"""Makes `spark.read.format("rocketmq_store")` work after `pip install` alone: PySpark imports every `pyspark_*`.

One such module that raises hides the formats of all others, so this one never does.
"""

try:
    from sprocketmq.spark.store_source import RocketMQStoreSource as DefaultSource
except ImportError:  # no pyspark, or one before 4.0
    __all__: list[str] = []
else:
    __all__ = ["DefaultSource"]
