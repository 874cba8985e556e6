"""Every fenced `sh` and `python` block of a page, run as it is printed, one after the other, against one cluster.

Blocks without a language are pictures, outputs or files; one that defines a test is run by pytest. README, the client's
guide (tests/unit/test_docs.py) and all blocks with Spark (tests/spark/test_doc_pages.py) have tests of their own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sprocketmq.testing import EmbeddedCluster

DOCS = Path(__file__).parents[2] / "docs"
PRINTED = "127.0.0.1:9876"
# How full the disk is under the tests says nothing of the page.
ANY_DISK = "sprocket check --disk-warning 101 --disk-critical 101"
ELSEWHERE = {"client.md": "tests/unit/test_docs.py", "spark.md": "tests/spark/test_doc_pages.py"}
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    return [each for each in _BLOCK.findall((DOCS / page).read_text()) if "pyspark" not in each[1]]


PAGES = sorted(path.name for path in DOCS.glob("*.md") if path.name not in ELSEWHERE and blocks(path.name))


def test_pages_that_are_left_out_are_tested_elsewhere() -> None:
    assert all((DOCS.parent / place).exists() for place in ELSEWHERE.values())


def python(source: str, folder: Path) -> list[str]:
    if not re.search(r"^def test_", source, re.MULTILINE):
        return [sys.executable, "-c", source]
    (folder / "test_page.py").write_text(source)
    # What pytest-asyncio says when a project has not chosen this is not the page's.
    chosen = "asyncio_default_fixture_loop_scope=function"
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", chosen, "test_page.py"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_printed(page: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with EmbeddedCluster() as cluster:
        environment = os.environ | {"PATH": path, "NAMESRV_ADDR": cluster.nameserver}
        for language, text in blocks(page):
            source = text.replace(PRINTED, cluster.nameserver).replace("sprocket check", ANY_DISK)
            command = ["sh", "-ec", source] if language == "sh" else python(source, tmp_path)
            done = subprocess.run(
                command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
            )
            assert (done.returncode, done.stderr) == (0, ""), f"{source}\n{done.stdout}\n{done.stderr}"
            assert done.stdout, source
