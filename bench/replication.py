"""A master and a slave, ours and Apache RocketMQ 5.3.3, one pair after the other; prints both and their ratio.

RMQLOAD=path/to/rmqload python -m bench.replication [--messages N] [--catch-up-mib N] [--ours-only]

    sends, alone          an asynchronous master without a slave
    sends, async replica  the same with a slave
    sends, sync replica   a master that answers when its slave has the message (inSyncReplicas=2)
    catch-up              a new slave of a master with so much log, from its first byte to the last
    first byte            from the slave's readiness to its first byte
    topic known           from the creation of a topic at the master until the slave has it
    stalled slave         what a slave that reads nothing adds to the memory of its master
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.broker import CONF
from tests.peers import probe
from tests.peers.apache import ApacheBroker, ApacheNameServer
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker, SprocketNameServer

from sprocketmq.codes import RequestCode

_SPEED = re.compile(r"(\d+) msg/s.*?cpu/M=([\d.]+)s")
_LOG_END = re.compile(rb'"commitLogMaxOffset":"(\d+)"')
SLAVE = {"brokerRole": "SLAVE", "brokerId": "1"}
SYNC = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "slaveTimeout": "30000"}
Make = Callable[[Path, NameServer, dict[str, str]], Broker]


def ours(folder: Path, nameserver: NameServer, conf: dict[str, str]) -> Broker:
    return SprocketBroker(folder, nameserver.address, CONF | conf)


def apache(folder: Path, nameserver: NameServer, conf: dict[str, str]) -> Broker:
    return ApacheBroker(folder, nameserver.address, CONF | conf, heap="1g", quick=False)


@contextmanager
def master_of(make: Make, conf: dict[str, str]) -> Iterator[tuple[Path, NameServer, Broker]]:
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        names: NameServer = (SprocketNameServer if make is ours else ApacheNameServer)(folder / "nameserver")
        names.start()
        master = make(folder / "master", names, conf)
        try:
            master.start()
            yield folder, names, master
        finally:
            master.kill()
            names.kill()


@contextmanager
def slave_of(make: Make, folder: Path, nameserver: NameServer) -> Iterator[Broker]:
    slave = make(folder / "slave", nameserver, SLAVE)
    try:
        slave.start()
        yield slave
    finally:
        slave.kill()


def load(rmqload: str, broker: Broker, messages: int, *options: str) -> tuple[int, float]:
    """Messages a second, and the broker's CPU seconds for a million of them."""
    command = [rmqload, "-addr", broker.address, "-pid", str(broker.pid), "-n", str(messages), "-bin", *options]
    match = _SPEED.search(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert match is not None
    return int(match[1]), float(match[2])


def log_end(broker: Broker) -> int:
    match = _LOG_END.search(probe.ask(broker.address, RequestCode.GET_BROKER_RUNTIME_INFO)[1])
    return int(match[1]) if match is not None else 0


def in_sync(master: Broker) -> bool:
    return b'"inSyncSlaveNums":1' in probe.ask(master.address, RequestCode.GET_BROKER_HA_STATUS)[1]


def wait(condition: Callable[[], bool], pause: float = 0.02) -> float:
    """Seconds until it holds."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > 300:
            raise SystemExit("gave up after five minutes")
        time.sleep(pause)
    return time.monotonic() - began


def sends(rmqload: str, make: Make, messages: int) -> dict[str, float]:
    found: dict[str, float] = {}
    with master_of(make, {}) as (folder, names, master):
        load(rmqload, master, messages // 5)
        found["sends, alone"], found["CPU s/million, alone"] = load(rmqload, master, messages)
        with slave_of(make, folder, names):
            wait(lambda: in_sync(master))
            load(rmqload, master, messages // 5)
            found["sends, async replica"], found["CPU s/million, async"] = load(rmqload, master, messages)
    with master_of(make, SYNC) as (folder, names, master), slave_of(make, folder, names):
        wait(lambda: in_sync(master))
        load(rmqload, master, messages // 5)
        found["sends, sync replica"], found["CPU s/million, sync"] = load(rmqload, master, messages)
    return found


def catching_up(rmqload: str, make: Make, mib: int) -> dict[str, float]:
    with master_of(make, {}) as (folder, names, master):
        load(rmqload, master, (mib << 20) // 1200, "-mode", "batch", "-size", "1024")
        end = log_end(master)
        with slave_of(make, folder, names) as slave:
            first = wait(lambda: log_end(slave) > 0)
            began, begin = time.monotonic(), log_end(slave)
            wait(lambda: log_end(slave) >= end, 0.05)  # asking costs the slave time
            rate = (end - begin) / (time.monotonic() - began) / 1e6
            return {"catch-up, MB/s": rate, "first byte, s": first, "topic known, s": topic_known(master, slave)}


def topic_known(master: Broker, slave: Broker) -> float:
    fields = {
        "topic": "brand-new", "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    probe.ask(master.address, RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    return wait(lambda: b'"brand-new"' in probe.ask(slave.address, RequestCode.GET_ALL_TOPIC_CONFIG)[1], 0.05)


def stalled(rmqload: str, make: Make) -> dict[str, float]:
    """Own memory, without the pages of the log that are mapped."""
    with master_of(make, {}) as (_folder, _names, master):
        for _ in range(3):
            load(rmqload, master, 100_000, "-mode", "batch", "-size", "1024")
        with socket.create_connection(("127.0.0.1", master.port + 1)) as slave:
            before = own_memory(master.pid)
            slave.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slave.sendall(bytes(8))
            load(rmqload, master, 100_000, "-mode", "batch", "-size", "1024")
            with_slave = own_memory(master.pid)
        return {"stalled slave, kB": with_slave - before}


def own_memory(pid: int) -> int:
    (line,) = re.findall(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(line)


def run(rmqload: str, make: Make, messages: int, mib: int) -> dict[str, float]:
    return sends(rmqload, make, messages) | catching_up(rmqload, make, mib) | stalled(rmqload, make)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--catch-up-mib", type=int, default=400)
    parser.add_argument("--ours-only", action="store_true")
    options = parser.parse_args()
    rmqload = os.environ.get("RMQLOAD") or shutil.which("rmqload")
    if rmqload is None:
        print("skipped: no rmqload; set RMQLOAD to the load generator", file=sys.stderr)
        return
    mine = run(rmqload, ours, options.messages, options.catch_up_mib)
    theirs = {} if options.ours_only else run(rmqload, apache, options.messages, options.catch_up_mib)
    for name, value in mine.items():
        line = f"{name:24} {value:>12,.2f}"
        if name in theirs:
            line += f"   Apache {theirs[name]:>12,.2f}   {value / max(theirs[name], 1e-9):6.2f}x"
        print(line)


if __name__ == "__main__":
    main()
