"""More queues than the process may have descriptors: each is written, read, found again and written on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_queues_outnumber_descriptors() -> None:
    command = [sys.executable, "-m", "bench.many_topics", "--topics", "40", "--queues", "8", "--descriptors", "80"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(ran.stdout)
    assert figures["queues"] == 320
    assert figures["descriptors"] < 80
