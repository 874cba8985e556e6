"""A few stories of each kind; `make chaos` tells as many as one likes."""

from __future__ import annotations

import pytest
from tests.fault.campaign.story import Script, tell


@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
async def test_kills_and_power_cuts_break_no_promise(mode: str) -> None:
    done: set[str] = set()
    for seed in range(2):
        told = await tell(Script(mode, seed))
        assert told.findings == []
        done |= {call.name for call in told.history.calls if call.is_ok}
    assert done >= {
        "send", "read", "commit", "fetch", "end", "half", "decide", "delay", "retry", "pop", "ack", "renew", "delete",
        "lock", "unlock", "sink", "fault",
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
async def test_a_clock_that_is_set_breaks_no_promise(mode: str) -> None:
    told = await tell(Script(mode, 7, faults=2, jumps=True))
    assert told.findings == []
