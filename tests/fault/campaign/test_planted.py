"""The campaign finds every planted bug, and by its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.fault.campaign.planted import BUGS, Bug
from tests.fault.campaign.story import tell

#: Threads have a say in it, so that a seed is not one course of events: some bugs show in one of ten, or fewer.
SEEDS = 100


def test_there_are_enough() -> None:
    assert len({bug.name for bug in BUGS}) >= 24


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
async def test_it_is_found(bug: Bug) -> None:
    found: set[str] = set()
    for seed in range(SEEDS):
        with bug.plant():
            found |= {finding.rule for finding in (await tell(replace(bug.script, seed=seed))).findings}
        if found & bug.rules:
            return
    pytest.fail(f"not found; only {found}")
