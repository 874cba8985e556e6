"""What docs/quick-start.md and docs/spark.md print for Spark and for readers without it, run as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.spark.settings import QUICK
from tests.stores import GoldenStore

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.testing import EmbeddedCluster

ROOT = Path(__file__).parents[2]


def block(page: str, word: str) -> str:
    """The one Python block of a page that has the word."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    (found,) = (each for each in blocks if word in each)
    return str(found)


def printed(source: str, folder: Path) -> str:
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in QUICK.items()))
    environment = os.environ | {"SPARK_CONF_DIR": str(folder), "PYSPARK_PYTHON": sys.executable}
    environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, cwd=folder, capture_output=True, text=True, check=False,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_first_queries(tmp_path: Path) -> None:
    with EmbeddedCluster(tmp_path / "data") as cluster:
        with Producer("readers", cluster.nameserver) as producer:
            producer.send(Message("orders", b"one", tag="paid"))
        source = block("docs/quick-start.md", "pyspark") + block("docs/spark.md", "pyspark")
        source = source.replace("127.0.0.1:9876", cluster.nameserver)
        shown = printed(source.replace("./sprocket-data/broker-a", str(tmp_path / "data" / "store")), tmp_path)
    assert re.search(r"paid\s*\|\s*1\|", shown), "of the topic"
    assert re.search(r"\|\s*orders\s*\|", shown), "of the log"
    assert re.search(r"\|queueId\|queueOffset\|", shown), "of the guide"


def test_readers_without_spark(store: GoldenStore, tmp_path: Path) -> None:
    assert "count_star()" in printed(
        block("docs/spark.md", "scan").replace("/var/lib/rocketmq", str(store.root)), tmp_path
    )
