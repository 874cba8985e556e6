"""Other people's tools read a store through `scan`: pandas, polars and DuckDB, each in its own way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars
import pytest
from tests.stores import unpack

from sprocketmq.store import scan

DUCKDB = """
import sys
import duckdb
from sprocketmq.store import scan

log = scan(sys.argv[1])
print(duckdb.execute(sys.argv[2]).fetchall())
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("clean", tmp_path).root


@pytest.fixture
def counts(root: Path) -> Counter[str]:
    return Counter(row["topic"] for row in scan(root).read_all().to_pylist())


def test_pandas(root: Path, counts: Counter[str]) -> None:
    frame = scan(root).read_pandas()
    assert frame["topic"].value_counts().to_dict() == counts
    rows = scan(root).read_all().to_pylist()
    assert frame["body"].tolist() == [row["body"] for row in rows]
    assert frame["properties"].tolist() == [row["properties"] for row in rows]


def test_polars(root: Path, counts: Counter[str]) -> None:
    frame = polars.from_arrow(scan(root))
    assert isinstance(frame, polars.DataFrame)
    assert dict(frame.group_by("topic").len().iter_rows()) == counts
    assert frame["body"].to_list() == scan(root).read_all()["body"].to_pylist()


def ask_duckdb(root: Path, question: str) -> list[tuple[Any, ...]]:
    """The answer to SQL on `log`, which DuckDB finds by the name that it has in the program.

    A program of its own: when an interpreter ends that did much else besides, DuckDB's bindings complain on its
    standard error of leaks that are theirs, and no switch of DuckDB's keeps them silent.
    """
    ran = subprocess.run(
        [sys.executable, "-c", DUCKDB, str(root), question], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    rows: list[tuple[Any, ...]] = ast.literal_eval(ran.stdout)
    return rows


def test_duckdb(root: Path, counts: Counter[str]) -> None:
    assert dict(ask_duckdb(root, "select topic, count(*) from log group by topic")) == counts


def test_duckdb_looks_into_properties_and_times(root: Path) -> None:
    rows = scan(root).read_all().to_pylist()
    keyed = sum("UNIQ_KEY" in dict(row["properties"]) for row in rows)
    newest = max(row["storeTimestamp"] for row in rows)
    question = "select sum(octet_length(body)), count(properties['UNIQ_KEY']), epoch_ms(max(storeTimestamp)) from log"
    assert ask_duckdb(root, question) == [
        (sum(len(row["body"]) for row in rows), keyed, round(newest.timestamp() * 1000))
    ]
    assert keyed
