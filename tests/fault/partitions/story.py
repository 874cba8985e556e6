"""One story: a fresh cluster, users at work, some faults one after the other, and the judgement of the history."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from zlib import crc32

from tests.fault.history.checker import check
from tests.fault.history.events import History
from tests.fault.history.findings import Promises
from tests.fault.partitions.machines import QUEUES, TOPIC, Machine, Machines
from tests.fault.partitions.nemeses import Nemeses
from tests.fault.partitions.users import Users, java_peer
from tests.peers import probe
from tests.peers.broker_set import NotInTime, wait_until
from tests.peers.namespaces import Namespaces

from sprocketmq.client import AdminClient
from sprocketmq.codes import RequestCode

_MORE = 30
#: Bytes of a log that are compared at once.
_PIECE = 16 << 10


@dataclass
class Told:
    """`faults` are those that came to their end, by kind; `whole_s` how long the set then took to be whole again."""

    faults: list[str] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    promised: int = 0
    findings: list[str] = field(default_factory=list)


async def tell(net: Namespaces, directory: Path, kinds: Sequence[str], seed: int, *, java: bool) -> Told:
    machines, told = Machines(net, directory), Told()
    history = History(lambda: int(time.monotonic() * 1000))
    try:
        await asyncio.to_thread(machines.start)
        await _create_topic(machines)
        peer = await asyncio.to_thread(java_peer, directory) if java else None
        try:
            async with Users(history, machines.names.address, peer) as users:
                await users.more(_MORE)
                nemeses = Nemeses(machines, Random(f"{seed}"))
                for kind in kinds:
                    await _fault(machines, nemeses, users, told, kind)
                await users.more(_MORE)
            await _read_all(history, machines)
        finally:
            if peer is not None:
                await asyncio.to_thread(peer.close)
    except (NotInTime, TimeoutError) as error:
        told.findings.append(f"stuck: {error!r} after {told.faults}")
    finally:
        net.heal()
        await asyncio.to_thread(machines.kill)
    told.promised = sum(1 for _ in history.ok("send"))
    told.findings += [str(finding) for finding in check(history, Promises(repeats=frozenset(kinds)))]
    return told


async def _create_topic(machines: Machines) -> None:
    async with AdminClient(machines.names.address) as admin:
        await admin.topics.create(TOPIC, queues=QUEUES)
    master = machines.master.address
    await asyncio.to_thread(
        wait_until, lambda: probe.routes_to(machines.names.address, master, TOPIC), "the topic's route"
    )


async def _fault(machines: Machines, nemeses: Nemeses, users: Users, told: Told, kind: str) -> None:
    call = users.history.begin("nemesis", "fault", kind=kind)
    await nemeses.strike(kind)
    told.whole_s.append(round(await asyncio.to_thread(machines.wait_whole), 2))
    await users.more(_MORE)
    call.ok()
    told.faults.append(kind)


async def _read_all(history: History, machines: Machines) -> None:
    """Every queue from its beginning, and the logs of all brokers as they are on their disks."""
    async with Users(history, machines.names.address) as last:
        last._stopping = True
        for queue in range(QUEUES):
            await last.read(queue, 0, final=True)
    ends = [await asyncio.to_thread(_log_end, each) for each in machines.brokers]
    for each in machines.brokers:
        history.begin(each.node, "log", node=each.node).ok(digests=_digests(each, min(ends)))


def _log_end(broker: Machine) -> int:
    _code, body = probe.ask(broker.address, RequestCode.GET_BROKER_RUNTIME_INFO)
    return int(json.loads(body)["table"]["commitLogMaxOffset"])


def _digests(broker: Machine, end: int) -> list[int]:
    log = b"".join(path.read_bytes() for path in sorted((broker.directory / "store" / "commitlog").iterdir()))[:end]
    return [crc32(log[at : at + _PIECE]) for at in range(0, len(log), _PIECE)]
