"""The console over a large cluster: what each page takes, and what a console costs a broker when nobody looks.

python -m bench.console [--topics 10000] [--groups 1000] [--rounds 9] [--idle 20]

Every page is asked for anew: between two rounds all that the console remembers grows old. Prints the medians as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.e2e.processes import running
from tests.peers.servers import Cluster
from tests.peers.sprocket import sprocket_cluster

from sprocketmq.hot.loader import form

#: Longer than any answer of the cluster is kept.
_OLD_S = 6.0
PAGES = (
    "/", "/topics", "/topics?page=100", "/topics?q=topic-99", "/topics?by=rate", "/topics/topic-7",
    "/topics/topic-7/messages", "/groups", "/groups?page=10", "/groups?by=lag", "/groups/group-7", "/letters",
    "/waiting", "/store", "/access",
)  # fmt: skip
QUEUES = 4


def fill(folder: Path, topics: int, groups: int) -> None:
    """The tables of a broker that has so many topics and groups, each of which has consumed one of the topics."""
    folder.mkdir(parents=True)
    names = [f"topic-{number}" for number in range(topics)]
    version = {"counter": 1, "stateVersion": 0, "timestamp": 0}
    table = {
        name: {
            "topicName": name, "perm": 6, "readQueueNums": QUEUES, "writeQueueNums": QUEUES, "topicSysFlag": 0,
            "topicFilterType": "SINGLE_TAG", "order": False,
        }
        for name in names
    }  # fmt: skip
    members = {f"group-{number}": {"groupName": f"group-{number}"} for number in range(groups)}
    places = {
        f"{names[number % topics]}@group-{number}": {str(queue): 0 for queue in range(QUEUES)}
        for number in range(groups)
    }
    _write(folder / "topics.json", {"dataVersion": version, "topicConfigTable": table})
    _write(folder / "subscriptionGroup.json", {"dataVersion": version, "subscriptionGroupTable": members})
    _write(folder / "consumerOffset.json", {"offsetTable": places})


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))


def page_times(home: str, rounds: int) -> dict[str, str]:
    """Milliseconds, the median and the most of all rounds."""
    took: dict[str, list[float]] = {page: [] for page in PAGES}
    for _ in range(rounds):
        for page, times in took.items():
            began = time.perf_counter()
            with urllib.request.urlopen(home + page, timeout=60) as answer:
                answer.read()
            times.append((time.perf_counter() - began) * 1000)
        time.sleep(_OLD_S)
    return {page: f"{statistics.median(times):.0f} ms, at most {max(times):.0f}" for page, times in took.items()}


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(process: int, seconds: float) -> float:
    """Of a broker that has nothing to do: milliseconds of CPU a second."""
    before = cpu_seconds(process)
    time.sleep(seconds)
    return round((cpu_seconds(process) - before) / seconds * 1000, 1)


def measure(cluster: Cluster, rounds: int, seconds: float) -> dict[str, object]:
    broker = cluster.broker.pid
    alone = idle(broker, seconds)
    with running("dashboard", "-n", cluster.address, "--port", 0) as console:
        home = f"http://127.0.0.1:{console.ready('dashboard').ports['dashboard']}"
        pages = page_times(home, rounds)
        beside = idle(broker, seconds)
    return {"form": form(), "pages": pages, "idle broker, CPU ms/s": {"alone": alone, "beside a console": beside}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--idle", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cluster = sprocket_cluster(Path(folder), None)
        fill(cluster.broker.store / "config", options.topics, options.groups)
        try:
            cluster.start()
            print(json.dumps(measure(cluster, options.rounds, options.idle), indent=2))
        finally:
            cluster.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
