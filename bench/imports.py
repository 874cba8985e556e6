"""What a program pays before its first message is stored: imports, and a first send by a client alone.

    python -m bench.imports [runs]      prints medians of the runs, which take turns

CPU seconds of whole processes, children of this one: `python` does nothing, `asyncio` runs a loop once, `import` only
imports the package, `send` and `sync` send one message to a cluster that runs already. `import time` is the sum that
`python -X importtime` gives for `send` and `sync`, Python's own modules and asyncio's included. SPROCKETMQ_PURE=1 takes
the interpreted form. Bytecode is in its place, as pip leaves it: a run that is not counted has written it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile

from sprocketmq.testing import EmbeddedCluster

SEND = """
import asyncio, sys
from sprocketmq import Message, Producer
async def main():
    async with Producer("g", sys.argv[1]) as producer:
        await producer.send(Message("TheFirst", b"hello"))
asyncio.run(main())
"""
SYNC = """
import sys
from sprocketmq import Message
from sprocketmq.client.sync import Producer
with Producer("g", sys.argv[1]) as producer:
    producer.send(Message("TheFirst", b"hello"))
"""
PROGRAMS = {
    "python": "pass", "asyncio": "import asyncio; asyncio.run(asyncio.sleep(0))", "import": "import sprocketmq",
    "send": SEND, "sync": SYNC,
}  # fmt: skip


def cpu_seconds(program: str, nameserver: str, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program, nameserver], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_seconds(program: str, nameserver: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-X", "importtime", "-c", program, nameserver]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    own = (line.removeprefix("import time:").split("|")[0].strip() for line in done.stderr.splitlines())
    return sum(int(microseconds) for microseconds in own if microseconds.isdecimal()) / 1e6


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    cpu: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    imports: dict[str, list[float]] = {"send": [], "sync": []}
    with EmbeddedCluster() as cluster, tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for program in PROGRAMS.values():
            cpu_seconds(program, cluster.nameserver, environment)
        for _ in range(runs):
            for name, program in PROGRAMS.items():
                cpu[name].append(cpu_seconds(program, cluster.nameserver, environment))
            for name, taken in imports.items():
                taken.append(import_seconds(PROGRAMS[name], cluster.nameserver, environment))
    for name, taken in cpu.items():
        print(f"{name:8} CPU {statistics.median(taken):.3f} s, least {min(taken):.3f} s")
    for name, taken in imports.items():
        print(f"{name:8} import time {statistics.median(taken):.3f} s, least {min(taken):.3f} s")


if __name__ == "__main__":
    main()
