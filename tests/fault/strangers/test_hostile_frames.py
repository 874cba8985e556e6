"""Hostile frames crash nothing, leak nothing, and good clients are served meanwhile.

The frames come from seeds: a run of 20,000 is the beginning of one of a hundred thousand, which `make chaos` makes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.fault.strangers.siege import besieged_broker, besieged_nameserver

FRAMES = int(os.environ.get("SPROCKETMQ_SIEGE_FRAMES", "20000"))


async def test_nameserver(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await besieged_nameserver(tmp_path, FRAMES, caplog)


async def test_broker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await besieged_broker(tmp_path, FRAMES, caplog)
