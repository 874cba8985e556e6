"""The short form of tests/fault/strangers/test_hostile_frames.py, for every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.strangers.siege import besieged_broker, besieged_nameserver


async def test_nameserver(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await besieged_nameserver(tmp_path, 3_000, caplog)


async def test_broker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await besieged_broker(tmp_path, 3_000, caplog)
