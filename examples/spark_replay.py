"""Send archived messages again, in the order of their queues.

python -m examples.spark_replay ARCHIVE HOST:PORT TOPIC ['SQL condition']
"""

# %%
import sys

from sprocketmq.spark.pipeline import open_session, replay
from sprocketmq.spark.pipeline.inputs import Input

archive, nameserver, topic, *where = sys.argv[1:]
spark = open_session("replay")
source = Input(archive=archive)
condition = where[0] if where else None

# %% First see what it would do.
print(replay(spark, source, nameserver, topic, where=condition, dry_run=True).by_topic)

# %% Then do it, not faster than consumers can follow.
print(replay(spark, source, nameserver, topic, where=condition, rows_per_second=5_000).rows, "sent")
spark.stop()
