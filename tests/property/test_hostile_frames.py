"""The short form of tests/fault/test_hostile_frames.py, for every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.siege import withstand


async def test_nameserver(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await withstand(tmp_path, caplog, 3_000)
