"""Are there known holes in what we depend on?

    python scripts/audit.py PIP_AUDIT LOCK_FILE

pip-audit asks a service for every locked version. A hole is printed, one line each, and ends with 1. Where the service
cannot be asked (a machine without a network, an index that has packages and no advisories) that is one line, and no
failure: who builds there cannot do anything about it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_SECONDS = 300


def ask(program: str, lock: str) -> list[dict[str, Any]] | str:
    """What is known of each dependency, or why nobody could be asked."""
    options = ["--requirement", lock, "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    try:
        done = subprocess.run([program, *options], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {_SECONDS} s"
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return said[-1][:200] if said else f"pip-audit ended with {done.returncode}"
    return found


def holes(dependencies: list[dict[str, Any]]) -> list[str]:
    return [
        f"{each['name']} {each['version']}: {hole['id']}, fixed in {', '.join(hole['fix_versions']) or 'no version'}"
        for each in dependencies
        for hole in each.get("vulns", ())
    ]


def main(program: str, lock: str) -> int:
    found = ask(program, lock)
    if isinstance(found, str):
        print(f"pip-audit: not asked, the service cannot be reached: {' '.join(found.split())}")
        return 0
    known = [each for each in found if "skip_reason" not in each]
    if not known:
        print(f"pip-audit: not asked, the service in reach knows none of the {len(found)} packages")
        return 0
    for line in holes(known):
        print(f"pip-audit: {line}", file=sys.stderr)
    if holes(known):
        return 1
    left = f", {len(found) - len(known)} are unknown to the service" if len(known) < len(found) else ""
    print(f"pip-audit: no known hole in {len(known)} packages of {Path(lock).name}{left}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
