"""What went wrong in a server by its own fault, as a figure: a background job that failed is an error of its log."""

from __future__ import annotations

from sprocketmq.logs import error_lines
from sprocketmq.metrics.exposition import COUNTER, Metric


def errors_logged() -> Metric:
    """One sample for each log that had an error; before the first there is a zero, for alerts to compare with."""
    found = Metric("sprocketmq_errors_total", COUNTER, "Errors that were logged, by log.")
    for name, count in sorted(error_lines.items()) or [("", 0)]:
        found.add(count, log=name)
    return found
