"""`make bench`: every benchmark in turn, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SKIPPED = {"__main__", "__init__", "hostile", "instructions", "many_timers", "soak", "spark_side", "timing"}


def main() -> int:
    here = Path(__file__).parent
    names = sorted(path.stem for path in here.glob("*.py") if path.stem not in SKIPPED)
    failed = [name for name in names if subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
