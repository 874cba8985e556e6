"""SPROCKETMQ_PURE=1 forces the interpreted form."""

from __future__ import annotations

import os
import subprocess
import sys


def test_pure_is_interpreted() -> None:
    environment = {**os.environ, "SPROCKETMQ_PURE": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "sprocketmq", "version"], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.rstrip().endswith("(interpreted)")
