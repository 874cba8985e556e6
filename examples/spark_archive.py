"""Archive topics to Parquet by topic and date; run it again to add what is new.

python -m examples.spark_archive HOST:PORT TOPIC[,TOPIC] TARGET
"""

# %%
import sys

from sprocketmq.spark.pipeline import archive, open_session
from sprocketmq.spark.pipeline.inputs import Input

nameserver, topics, target = sys.argv[1:]
spark = open_session("archive")

# %% A stream that ends when it has caught up; its checkpoint is beside the data.
done = archive(spark, Input(nameserver, topics=tuple(topics.split(","))), target)
print(f"{done.rows} new messages, {done.total} in all; {done.files_saved} small files joined away")

# %% Any reader of Parquet will do from here on.
spark.read.parquet(target).groupBy("topic", "date").count().show()
spark.stop()
