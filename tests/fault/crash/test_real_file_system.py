"""The power cut on a real file system, and the kill of a real process."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.crash.cycles import Cycles, Outcome, kill
from tests.fault.crash.loopfs import LoopFileSystem, why_not

CYCLES = 50
KILLS = 8


def assert_sound(outcome: Outcome) -> None:
    assert outcome.lost == []
    assert outcome.invented == []
    assert outcome.wrong == []
    assert outcome.acknowledged > outcome.cycles


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
@pytest.mark.timeout(900)
def test_power_cuts(mode: str, tmp_path: Path) -> None:
    """Under SYNC_FLUSH nothing acknowledged is lost; under ASYNC_FLUSH nothing that an earlier start had found."""
    with LoopFileSystem(tmp_path) as disk:
        cycles = Cycles(disk.mount_point / "store", mode)
        for _ in range(CYCLES if mode == "SYNC_FLUSH" else CYCLES // 5):
            cycles.run(lambda _writer: disk.cut_power(), disk.power_on)
    assert_sound(cycles.outcome)


@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
def test_kills(mode: str, tmp_path: Path) -> None:
    cycles = Cycles(tmp_path / "store", mode)
    for _ in range(KILLS):
        cycles.run(kill, lambda: None)
    assert_sound(cycles.outcome)
