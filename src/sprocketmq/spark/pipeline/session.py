"""A Spark session for a job, and errors that a person can read."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sprocketmq.errors import SprocketError
from sprocketmq.spark import register

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.log.level": "ERROR",
}
#: The last line of a Python traceback of ours, wherever Spark put it.
_OURS = re.compile(r"^\s*(?:[\w.]*sprocketmq[\w.]*\.)(\w+): (.+)$", re.MULTILINE)


class PipelineError(SprocketError):
    """A job that could not be done, in one line."""


def open_session(
    name: str = "sprocketmq",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    packages: str | None = None,
) -> SparkSession:
    """The session of this process with our formats in it. `local[*]` unless spark-submit or `master` says otherwise."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need this package, so they need this Python
    builder = SparkSession.builder.appName(name)
    settings = {**_DEFAULTS, **({"spark.jars.packages": packages} if packages else {}), **(conf or {})}
    for key, value in settings.items():
        builder = builder.config(key, value)
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # one machine: nothing listens beyond it
    return register(builder.getOrCreate())


@contextmanager
def clean_errors() -> Iterator[None]:
    """Spark's errors as one line: what our side said when it was ours, else the first line of Spark's own."""
    try:
        yield
    except PySparkException as error:
        raise PipelineError(explain(str(error))) from None


def explain(text: str) -> str:
    """What a person has to know out of an error that crossed several processes."""
    if found := _OURS.findall(text):
        return str(found[-1][1]).strip()
    first = next((line for line in text.splitlines() if line.strip()), "Spark failed without a reason")
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", first.strip())
