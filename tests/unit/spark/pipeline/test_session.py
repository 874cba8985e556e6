"""Errors of several processes as one line."""

from __future__ import annotations

from sprocketmq.spark.pipeline.session import explain

OURS = """[PYTHON_DATA_SOURCE_ERROR] Failed to create: Traceback (most recent call last):
  File "worker.py", line 98, in worker_run
sprocketmq.spark.options.options.OptionError: option 'damage' is one of fail, skip, column, not 'x'
 SQLSTATE: 38000
\tat org.apache.spark.Something(Some.scala:1)"""


def test_our_own_words_come_first() -> None:
    assert explain(OURS) == "option 'damage' is one of fail, skip, column, not 'x'"


def test_of_sparks_words_the_first_line() -> None:
    said = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `x` cannot be resolved.\n== SQL ==\nselect x"
    assert explain(said) == "A column `x` cannot be resolved."
    assert explain("") == "Spark failed without a reason"
