"""Jobs on Spark: archive, replay, audit, rebuild, report and query; `sprocket pipeline` calls these functions."""

from sprocketmq import extras

extras.need("a job on Spark", "pyspark", "spark")

from sprocketmq.spark.pipeline.archive import archive  # noqa: E402
from sprocketmq.spark.pipeline.audit import audit_delivery, audit_store  # noqa: E402
from sprocketmq.spark.pipeline.query import query  # noqa: E402
from sprocketmq.spark.pipeline.rebuild import rebuild  # noqa: E402
from sprocketmq.spark.pipeline.replay import replay  # noqa: E402
from sprocketmq.spark.pipeline.report import report  # noqa: E402
from sprocketmq.spark.pipeline.session import PipelineError, clean_errors, open_session  # noqa: E402

__all__ = [
    "PipelineError",
    "archive",
    "audit_delivery",
    "audit_store",
    "clean_errors",
    "open_session",
    "query",
    "rebuild",
    "replay",
    "report",
]
