"""Every call of the disk that is made for a small file fails once, in four ways."""

from __future__ import annotations

import errno

import pytest
from tests.fault.systematic.small_files import CODES, SCRIPTS, calls_of, inject


@pytest.mark.parametrize("name", SCRIPTS)
async def test_no_call_that_fails_breaks_a_promise(name: str) -> None:
    calls = await calls_of(name)
    assert calls >= 3
    findings = {
        f"{errno.errorcode[code]} at call {number}": found
        for number in range(1, calls + 1)
        for code in CODES
        if (found := await inject(name, number, code))
    }
    assert findings == {}
