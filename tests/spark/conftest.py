"""One Spark session for the whole run, and brokers to read from and write to."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.peers.fixtures import *  # noqa: F403
from tests.spark.settings import QUICK
from tests.stores import GoldenStore, unpack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = Path(__file__).parents[2] / "src"
STARTUP = Path(__file__).parent / "startup"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.filterwarnings("default"))  # PySpark warns of pandas and of its own sockets


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """On local[2], without `register`: the formats are found by the names of their packages."""
    from pyspark.sql import SparkSession

    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys([str(STARTUP), str(SOURCES), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.simplefilter("ignore")
    builder = SparkSession.builder.master("local[2]").appName("sprocketmq-tests")
    places = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    switches = {"spark.sql.session.timeZone": "UTC", "spark.sql.python.filterPushdown.enabled": "true"}
    for key, value in {**QUICK, **places, **switches}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def store(tmp_path: Path) -> GoldenStore:
    """A store that Apache RocketMQ wrote."""
    return unpack("clean", tmp_path)
