"""How long a start takes and what a server takes at rest: `sprocket up` with one broker, on an empty directory.

    python -m bench.start [runs]        prints the median of the runs

`ready` is from the start of the process to the broker's line on stdout, `first message` to the answer to a send, `at
rest` the resident memory a second after that, `CPU` what the process had used at the first answer. `again` starts once
more on the data of the last run, `killed` after the one before was killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from sprocketmq.client import Message, Producer


@dataclass(frozen=True, slots=True)
class Start:
    ready_s: float
    first_message_s: float
    first_message_cpu_s: float
    at_rest_mib: float


async def start(data: Path, end: int = signal.SIGTERM) -> Start:
    options = ["--nameserver-port", "0", "--port", "0", "--dashboard-port", "0"]
    command = [sys.executable, "-m", "sprocketmq", "up", "--data", str(data), *options]
    begin = time.perf_counter()
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=nowhere)
    assert process.stdout is not None
    addresses = [(await process.stdout.readline()).decode().split()[-1] for _ in range(2)]
    ready = time.perf_counter() - begin
    async with Producer("starters", nameserver=addresses[0]) as producer:
        await producer.send(Message("TheFirst", b"hello"))
        first, used = time.perf_counter() - begin, cpu_seconds(process.pid)
    await asyncio.sleep(1)
    resident = resident_mib(process.pid)
    process.send_signal(end)
    await process.wait()
    return Start(ready, first, used, resident)


def cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def median(starts: list[Start]) -> Start:
    return Start(
        *(statistics.median(column) for column in zip(*(asdict(each).values() for each in starts), strict=True))
    )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as directory:
        folders = [Path(directory) / str(number) for number in range(runs)]
        result = {
            "empty": median([asyncio.run(start(folder)) for folder in folders]),
            "again": median([asyncio.run(start(folders[-1])) for _ in range(runs)]),
            "killed": median([asyncio.run(start(folders[-1], signal.SIGKILL)) for _ in range(runs + 1)][1:]),
        }
    for name, each in result.items():
        print(f"{name:6} ready {each.ready_s:.2f} s, first message {each.first_message_s:.2f} s,"
              f" CPU {each.first_message_cpu_s:.2f} s, at rest {each.at_rest_mib:.0f} MiB")  # fmt: skip
    print(json.dumps({name: asdict(each) for name, each in result.items()}))


if __name__ == "__main__":
    main()
