"""What docs/reliability.md promises is tested: every test that it names exists, every row of faults names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/reliability.md").read_text()


def test_every_test_that_it_names_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+\.py)`", TEXT))
    assert len(named) > 15
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_every_paragraph_of_promises_names_its_test() -> None:
    """Up to the table of tests; what is not covered promises nothing, and the table of faults has its rows below."""
    promises = TEXT.partition("## What is not covered")[0]
    paragraphs = [part for part in promises.split("\n\n") if not part.startswith(("#", "|", "A message is *ack"))]
    steps = [step for part in paragraphs for step in re.split(r"\n(?=\d\. )", part)]
    assert len(steps) > 8
    assert [step for step in steps if step.strip() and "`tests/" not in step] == []


@pytest.mark.parametrize("heading", ["What survives what", "Clocks", "Replicas", "Strangers", "How it is tested"])
def test_every_row_of_a_table_names_its_test(heading: str) -> None:
    part = re.split(r"^#+ ", TEXT.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    rows = [line for line in part.splitlines() if line.startswith("| ")]
    assert len(rows) > 3
    told = [row for row in rows[1:] if "| the disk is gone |" not in row]  # that promises nothing
    assert [row for row in told if "`tests/" not in row] == []
