"""What docs/reliability.md promises is tested: every test that it names exists, every row of faults names one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/reliability.md").read_text()


def test_every_test_that_it_names_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+\.py)`", TEXT))
    assert len(named) > 15
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_every_paragraph_of_promises_names_its_test() -> None:
    """Up to the table of tests; what is not covered promises nothing, and the table of faults has its rows below."""
    promises = TEXT.partition("## What is not covered")[0]
    paragraphs = [
        part for part in promises.split("\n\n") if not part.startswith(("#", "|", "A message is *ack", "`sprocket"))
    ]
    steps = [step for part in paragraphs for step in re.split(r"\n(?=\d\. )", part)]
    assert len(steps) > 8
    assert [step for step in steps if step.strip() and "`tests/" not in step] == []


def test_every_row_of_faults_names_its_test() -> None:
    rows = [line for line in TEXT.partition("## How it is tested")[2].splitlines() if line.startswith("| ")]
    assert [row for row in rows[1:] if "`tests/" not in row] == []
