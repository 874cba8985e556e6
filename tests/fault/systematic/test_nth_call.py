"""One failing call of the disk: a walk through the script in strides; `make chaos` stops at every call."""

from __future__ import annotations

from itertools import cycle

import pytest
from tests.fault.systematic.nth_call import CODES, ENDINGS, Fault, calls_of, inject
from tests.fault.systematic.program import MODES

PLACES = 10


@pytest.mark.parametrize("mode", MODES)
async def test_no_call_that_fails_breaks_a_promise(mode: str) -> None:
    calls = await calls_of(mode)
    assert calls > 500
    met = set()
    kinds = cycle((ending, code) for code in CODES for ending in ENDINGS)
    for number, (ending, code) in zip(range(7, calls, calls // PLACES), kinds, strict=False):
        outcome = await inject(Fault(mode, ending, code, number))
        assert outcome.findings == [], f"{outcome.fault}: {outcome.met}"
        met.add(outcome.met)
    assert len(met - {""}) > 2
