"""Errors of several processes as one line, and a job that cannot even begin."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.peers.process import eventually

from sprocketmq.spark.pipeline.session import clean_errors, explain

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


@pytest.mark.parametrize("home", ["", "/nowhere"])
def test_no_java_is_one_line(home: str, tmp_path: Path) -> None:
    """In an environment without Java, be it that JAVA_HOME is wrong."""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(tmp_path), "SPROCKET_RUNS": str(tmp_path)} | ({"JAVA_HOME": home} if home else {})
    done = subprocess.run(
        [sys.executable, "-m", "sprocketmq", "pipeline", "archive", tmp_path / "out", "--store", tmp_path],
        env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    where = "JAVA_HOME=/nowhere" if home else "the PATH"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"sprocket: Spark needs Java 17 or newer, and {where} has none (Debian: ")
    assert done.returncode == 1


def test_a_java_that_does_not_start_has_said_why() -> None:
    assert "Java 17 or newer" in explain("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port.")


#: Tells Spark's launcher to run it again as the JVM, which then says its number and waits.
_JAVA = """#!/bin/sh
case "$*" in
*launcher.Main*) printf '\\0\\n%s\\0pyspark-shell\\0' "$0" ;;
*) echo $$ >"$MARK.part"; mv "$MARK.part" "$MARK"; while :; do sleep 0.1; done ;;
esac
"""


def test_an_interrupt_while_spark_starts_leaves_no_java_behind(tmp_path: Path) -> None:
    java, mark = tmp_path / "bin" / "java", tmp_path / "mark"
    java.parent.mkdir()
    java.write_text(_JAVA)
    java.chmod(0o755)
    environment = os.environ | {"JAVA_HOME": str(tmp_path), "MARK": str(mark), "SPROCKET_RUNS": str(tmp_path)}
    words = ("pipeline", "archive", str(tmp_path / "out"), "--store", str(tmp_path))
    command = [sys.executable, "-m", "sprocketmq", *words]
    started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        eventually(mark.exists, "the JVM has begun")
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=300)  # not before the JVM has closed them too
    finally:
        started.kill()
    assert (started.returncode, said.strip()) == (130, "")


def test_an_interrupt_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    """As py4j does it."""
    with clean_errors():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            logging.exception("KeyboardInterrupt while sending command.")
    assert capsys.readouterr().err == ""
    assert logging.root.filters == []
