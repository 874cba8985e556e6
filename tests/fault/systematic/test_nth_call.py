"""One failing call of the disk: a walk through the script in strides; `make chaos` stops at every call."""

from __future__ import annotations

from itertools import cycle

import pytest
from tests.fault.systematic.nth_call import CODES, ENDINGS, Fault, calls_of, inject
from tests.fault.systematic.program import MODES

PLACES = 10


@pytest.mark.parametrize("mode", MODES)
async def test_no_call_that_fails_breaks_a_promise(mode: str) -> None:
    calls = {ending: await calls_of(mode, ending) for ending in ENDINGS}
    assert len(calls["stop"]) > len(calls["power"]) > 500
    met = set()
    kinds = cycle((ending, code) for code in CODES for ending in ENDINGS)
    for place, (ending, code) in zip(range(PLACES), kinds, strict=False):
        some = calls[ending]
        faults, findings = await inject([Fault(mode, ending, code, some[7 + place * (len(some) - 7) // PLACES])])
        assert findings == [], [str(fault) for fault in faults]
        met |= {fault.call.kind for fault in faults}
    assert len(met) > 2
