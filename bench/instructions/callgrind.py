"""A process whose instructions are counted, while it is asked to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

COUNTS = 3


class Counted:
    """A process under callgrind, which counts only what it does inside of `count`."""

    def __init__(self, checkout: Path, folder: Path, arguments: list[str], inside: str = "") -> None:
        """With `inside`, only while the function of that name runs."""
        self._out = folder / f"callgrind-{len(list(folder.iterdir()))}"
        options = [
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={self._out}",
            "--log-file=/dev/null",
        ]
        if inside:
            options.append(f"--toggle-collect={inside}")
        environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
        command = ["valgrind", *options, sys.executable, *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True, cwd=folder)
        self._dumps = 0

    def count(self, act: Callable[[], object]) -> int:
        self._control("-i", "on")
        self._control("-z")
        act()
        self._control("-d")
        self._control("-i", "off")
        self._dumps += 1
        text = Path(f"{self._out}.{self._dumps}").read_text()
        found = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        return int(found[1]) if found else 0

    def settle(self) -> None:
        """Wait until it does next to nothing."""
        before, now = -1.0, self._cpu_seconds()
        while now - before > 0.3:
            time.sleep(3)
            before, now = now, self._cpu_seconds()

    def _cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _control(self, *arguments: str) -> None:
        subprocess.run(["callgrind_control", *arguments, str(self.process.pid)], capture_output=True, check=True)

    def ask(self, line: str) -> None:
        """Of a client: do this, and say when it is done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def least(process: Counted, number: int, act: Callable[[], object]) -> float:
    return min(process.count(lambda: [act() for _ in range(number)]) for _ in range(COUNTS)) / number
