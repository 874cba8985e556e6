"""A stream from topic to topic: totals by minute and tag.

python -m examples.spark_stream HOST:PORT TOPIC TARGET_TOPIC CHECKPOINT [once]

It runs until it is stopped, and goes on from its checkpoint; with `once` it ends when it has caught up.
"""

# %% The source: committed progress of the group is what mqadmin and dashboards show.
import sys

from pyspark.sql import functions as f

from sprocketmq.spark.pipeline import open_session

nameserver, topic, target, checkpoint, *once = sys.argv[1:]
spark = open_session("stream")
source = {"nameserver": nameserver, "subscribe": topic, "startingOffsets": "earliest", "group": "minute-totals"}
messages = spark.readStream.format("rocketmq").options(**source, maxOffsetsPerTrigger="100000").load()

# %% Windows that are complete when no message older than ten seconds is to be expected any more.
totals = (
    messages.withWatermark("storeTimestamp", "10 seconds")
    .groupBy(f.window("storeTimestamp", "1 minute"), "tags")
    .agg(f.count("*").alias("messages"))
    .select(f.to_json(f.struct("window.start", "tags", "messages")).alias("body"), "tags")
)

# %% The sink: half messages and a commit record make each batch visible exactly once.
sink = {"nameserver": nameserver, "topic": target, "checkpointLocation": checkpoint, "delivery": "exactly-once"}
writer = totals.writeStream.format("rocketmq").options(**sink)
query = (writer.trigger(availableNow=True) if once else writer.trigger(processingTime="5 seconds")).start()
query.awaitTermination()
print(sum(int(progress["numInputRows"]) for progress in query.recentProgress), "messages read")
spark.stop()
