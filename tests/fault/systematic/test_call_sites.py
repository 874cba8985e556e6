"""One exception in each background task, in the middle of what it calls; `make chaos` goes through every call."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.fault.systematic.program import MODES
from tests.fault.systematic.script import Play


@pytest.mark.skipif("SPROCKETMQ_CHAOS" not in os.environ, reason="other calls at each run: make chaos")
@pytest.mark.parametrize("mode", ["SYNC_FLUSH", "ASYNC_FLUSH"])
def test_no_exception_of_a_background_task_is_silent_or_loses_anything(mode: str) -> None:
    """In a process of its own, for compiled code hides who calls whom."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fault.systematic.call_sites", "--modes", mode, "--one-each"],
        env={**os.environ, "SPROCKETMQ_PURE": "1"},
        stdout=subprocess.PIPE,
        check=False,
    )
    result = json.loads(done.stdout)
    assert result["findings"] == []
    assert result["places"][mode] > 1000
    assert result["met"] >= 10
    assert done.returncode == 0


@pytest.mark.parametrize("mode", MODES)
async def test_the_script_has_a_nameserver_a_slave_and_metrics(mode: str) -> None:
    """Without a fault all goes well, and each of them is at work."""
    play = Play(mode, "stop")
    assert await play.perform(lambda _play: None) == []
    assert play.neighbours.copied > 0
    assert play.neighbours.pages == 2
    assert play.neighbours.registered == {"broker-a"}
