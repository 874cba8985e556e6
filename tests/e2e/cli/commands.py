"""`sprocket` commands as processes of their own, as shells and scripts run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.e2e.processes import SOURCE

#: Seconds that only a command that hangs needs.
HANG = 120


def environment(nameserver: str, **more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPROCKET_", "NAMESRV"))}
    nowhere = {"XDG_CONFIG_HOME": os.devnull}
    return {**kept, **nowhere, "PYTHONPATH": str(SOURCE), "SPROCKET_NAMESERVER": nameserver, **more}


def argv(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "sprocketmq", *map(str, arguments)]


def sprocket(
    nameserver: str, *arguments: object, stdin: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv(*arguments),
        input=stdin,
        capture_output=True,
        env=environment(nameserver, **more),
        timeout=HANG,
        check=False,
    )


def piped(nameserver: str, line: str, *arguments: object) -> tuple[int, str, str]:
    """`sprocket ARGUMENTS` in a shell's `line`, where it is called `$@`; the exit code is that of the command."""
    script = f"set -o pipefail; {line}"
    done = subprocess.run(
        ["bash", "-c", script, "sprocket", *argv(*arguments)],
        capture_output=True, env=environment(nameserver), timeout=HANG, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows(nameserver: str, *arguments: object, stdin: bytes = b"") -> Any:
    """What a command that succeeds prints with --json."""
    done = sprocket(nameserver, *arguments, "--json", stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def lines(nameserver: str, *arguments: object) -> list[Any]:
    """The same of a command that prints one object per line."""
    done = sprocket(nameserver, *arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]
