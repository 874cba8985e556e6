"""A hundred thousand hostile frames crash nothing, leak nothing, and good clients are served meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.siege import withstand


async def test_nameserver(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await withstand(tmp_path, caplog, 100_000)
