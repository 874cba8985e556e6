"""Jobs on Spark: archive, replay, audit, rebuild, report and query; `sprocket pipeline` calls these functions."""

from sprocketmq.spark.pipeline.archive import archive
from sprocketmq.spark.pipeline.audit import audit_delivery, audit_store
from sprocketmq.spark.pipeline.query import query
from sprocketmq.spark.pipeline.rebuild import rebuild
from sprocketmq.spark.pipeline.replay import replay
from sprocketmq.spark.pipeline.report import report
from sprocketmq.spark.pipeline.session import PipelineError, clean_errors, open_session

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
