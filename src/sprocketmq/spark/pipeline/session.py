"""A Spark session for a job, and errors that a person can read."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sprocketmq.errors import SprocketError
from sprocketmq.spark import SESSION_CONF, register
from sprocketmq.spark.compat import HAS_ADMISSION_CONTROL, package_of

_DEFAULTS = {
    **SESSION_CONF,
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


_NO_JAVA = "Spark needs Java 17 or newer"
#: What a format needs of the session, beside its package.
_FORMAT_CONF = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    },
}


def open_session(
    name: str = "sprocketmq",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    packages: str | None = None,
    format: str = "parquet",
) -> SparkSession:
    """The session of this process with our formats in it. `local[*]` unless spark-submit or `master` says otherwise.

    A table format brings the settings it needs, and its package unless `packages` names one.
    """
    _need_java()
    _set_environment(master)
    builder = SparkSession.builder.appName(name)
    packages = packages or package_of(format)
    loaded = {"spark.jars.packages": packages, **_FORMAT_CONF.get(format, {})} if packages else {}
    settings = {**_DEFAULTS, **loaded, **(conf or {})}
    for key, value in settings.items():
        builder = builder.config(key, value)
    if master is not None:
        builder = builder.master(master)
    try:
        return register(builder.getOrCreate())
    except BaseException:
        _end_launched()
        raise


def _need_java() -> None:
    """Spark's launcher fails with three lines of its own, none of which says what is missing."""
    home = os.environ.get("JAVA_HOME")
    is_running = SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ
    if not is_running and shutil.which(f"{home}/bin/java" if home else "java") is None:
        where = f"JAVA_HOME={home}" if home else "the PATH"
        raise PipelineError(f"{_NO_JAVA}, and {where} has none (Debian: apt-get install openjdk-17-jre-headless)")


def _end_launched() -> None:
    """A JVM that nobody waited for would stay for ever: PySpark has removed the file by which it tells its port."""
    if SparkContext._gateway is not None:
        return
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        if b"pyspark-shell" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(int(child), signal.SIGTERM)


def launch_jvm(master: str, conf: Mapping[str, str], log: Path) -> None:
    """Start the JVM of the session that `open_session` will open: in a thread, say, while other things are done.

    What it would say to the terminal goes to `log`.
    """
    _set_environment(master)
    settings = SparkConf().setAll([(key, str(value)) for key, value in {**_DEFAULTS, **conf}.items()])
    with log.open("ab") as stderr:
        gateway = launch_gateway(settings, popen_kwargs={"stderr": stderr})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)


def _set_environment(master: str | None) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need this package, so they need this Python
    if master is not None and master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # one machine: nothing listens beyond it


@contextmanager
def clean_errors() -> Iterator[None]:
    """Spark's errors as one line: what our side said when it was ours, else the first line of Spark's own."""
    logging.root.addFilter(_is_no_interrupt)
    try:
        yield
    except PySparkException as error:
        raise PipelineError(explain(str(error))) from None
    except Py4JJavaError as error:  # what Spark throws before it has parsed anything, a format that it does not know
        raise PipelineError(explain(str(error.java_exception).partition(": ")[2])) from None
    finally:
        logging.root.removeFilter(_is_no_interrupt)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """py4j logs the traceback of a ^C that comes while it waits; whoever typed it knows."""
    return record.exc_info is None or not isinstance(record.exc_info[1], KeyboardInterrupt)


def run_to_end(start: Callable[[], StreamingQuery], limit: int | None = None) -> list[Any]:
    """Run a query that ends by itself; returns the progress of its batches.

    Before Spark 4.2 such a query ends after one batch, be it one that the last run left unfinished: it is run a second
    time, and again until a batch stays below the `limit` that batches have.
    """
    runs = [_run(start)]
    while not HAS_ADMISSION_CONTROL and (len(runs) == 1 or (limit and 2 * _rows(runs[-1]) > limit)):
        runs.append(_run(start))
    return [batch for run in runs for batch in run]


def _rows(progress: list[Any]) -> int:
    return sum(batch.numInputRows for batch in progress)


def _run(start: Callable[[], StreamingQuery]) -> list[Any]:
    """Spark gives a Python worker ten seconds to start, which no setting changes; a machine that is too busy for that
    may have another try, for the query goes on from its checkpoint.
    """
    for tries_left in (2, 1, 0):
        query = start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if not tries_left or "failed to connect back" not in str(error):
                raise
        else:
            break
    return list(query.recentProgress)


def explain(text: str) -> str:
    """What a person has to know out of an error that crossed several processes."""
    if found := _OURS.findall(text):
        return str(found[-1][1]).strip()
    if "JAVA_GATEWAY_EXITED" in text:
        return f"Java has not started, for a reason that it says above; {_NO_JAVA}"
    first = next((line for line in text.splitlines() if line.strip()), "Spark failed without a reason")
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", first.strip())
