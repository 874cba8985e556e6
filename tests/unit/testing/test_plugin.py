"""What the pytest plugin costs a run that does not use it, and what it offers one that does."""

from __future__ import annotations

import subprocess
import sys


def test_a_run_that_does_not_use_it_imports_nothing_of_ours() -> None:
    code = "import sys, sprocketmq.testing.plugin; print(*[name for name in sys.modules if 'sprocketmq' in name])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {
        "sprocketmq", "sprocketmq.hot", "sprocketmq.hot.loader", "sprocketmq.testing", "sprocketmq.testing.plugin"
    }  # fmt: skip
