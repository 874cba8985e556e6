"""A page about a store: throughput, sizes, latency, lag, hot keys, failures.

python -m examples.spark_report STORE TARGET
"""

# %%
import sys

from sprocketmq.spark.pipeline import open_session, report
from sprocketmq.spark.pipeline.inputs import Input

store, target = sys.argv[1:]
spark = open_session("report")

# %% The tables are also files, TARGET/*.parquet, and values here.
found = report(spark, Input(store=store), target, title=f"Store {store}")
for row in found.tables["topics"]:
    print(row)
print(f"{target}/index.html")
spark.stop()
