"""Read a topic, and a store directory, as DataFrames.

python -m examples.spark_read HOST:PORT TOPIC [STORE]
"""

# %% A session. The formats are found by themselves; `open_session` also turns filter push-down on.
import sys

from pyspark.sql import functions as f

from sprocketmq.spark.pipeline import open_session

nameserver, topic, *store = sys.argv[1:]
spark = open_session("read")

# %% A topic. Offsets, times, tags and SQL92 filters are options, see sprocketmq.spark.options.source.
messages = spark.read.format("rocketmq").options(nameserver=nameserver, subscribe=topic, minPartitions="4").load()
messages.printSchema()
messages.groupBy("tags").agg(f.count("*"), f.max("storeTimestamp")).show()

# %% A store directory, without any broker: only the queues and the bytes of the topic are touched.
if store:
    log = spark.read.format("rocketmq_store").option("damage", "column").load(store[0])
    log.where(f.col("topic") == topic).select("queueId", "queueOffset", "tags", "keys", "damage").show()

spark.stop()
