"""How many examples hypothesis tries."""

from __future__ import annotations

import os


def examples(count: int = 100) -> int:
    """A quarter where hot modules are interpreted: each takes several times as long, and all are tried compiled."""
    return count // 4 if os.environ.get("SPROCKETMQ_PURE") else count
