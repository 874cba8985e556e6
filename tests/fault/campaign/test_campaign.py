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


async def test_clocks_and_power_cuts_leave_no_hole_before_younger_messages() -> None:
    """What was found once: the clock was set back, so that all messages had one store time when the power went."""
    told = await tell(Script("ASYNC_FLUSH", 7102, jumps=True))
    assert told.findings == []


async def test_a_transient_buffer_loses_no_more_than_what_was_not_committed() -> None:
    small = {
        "transientStorePoolEnable": "true", "mappedFileSizeCommitLog": "8192", "mappedFileSizeConsumeQueue": "40",
        "enableConsumeQueueExt": "true", "mappedFileSizeConsumeQueueExt": "4096",
    }  # fmt: skip
    told = await tell(Script("ASYNC_FLUSH", 311, settings=tuple(small.items())))
    assert told.findings == []
