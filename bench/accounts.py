"""What accounts cost: the broker's CPU with signed requests, beside the same requests without accounts.

    python -m bench.accounts [--starts N] [--rounds N] [--folder STORES] [--apache] [--json]

Brokers with accounts and without get the same signed frames: single sends, batches of 32 and pulls of 32 messages, from
a client of plain sockets. The price of access control shall be at most a tenth of the broker's CPU: the median of the
starts, with its interval (bench/slices.py). A third broker has no accounts either. What it costs more than the first is
0 in truth; what is shown instead says how well this run could tell.

Stores are in memory unless a folder is told: without a disk there is less noise, but a request costs less too, so that
the price is a larger part of it. With `--apache` two brokers of Apache RocketMQ 5.3.3, one with its ACL 2.0, take part
in the same rounds. Interrupted, it reports the starts that are done.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.broker import CONF
from bench.slices import ENOUGH, Rounds, in_turns, keep_on_core, price
from tests.peers.apache import ApacheBroker, ApacheNameServer
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker, SprocketNameServer

from sprocketmq.codes import RequestCode, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.send import SendMessageRequestHeaderV2
from sprocketmq.protocol.signing import with_signature

KEY, SECRET = "bench-user", "bench-secret-1"
AT_MOST = 0.10
CORES = os.sched_getaffinity(0)
#: "again" is the twin of the first.
NAMES = {"ours": ("without", "with", "again"), "Apache": ("without", "with")}
_PROVIDERS = "org.apache.rocketmq.auth.authentication.provider"
ACCOUNTS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "authenticationMetadataProvider": f"{_PROVIDERS}.LocalAuthenticationMetadataProvider",
    "authorizationMetadataProvider": (
        "org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider"
    ),
    "initAuthenticationUser": '{"username":"bench-root","password":"bench-root-secret"}',
}


def signed(code: int, fields: Mapping[str, str], body: bytes = b"") -> bytes:
    keyed = with_signature(fields, body, access_key=KEY, secret_key=SECRET)
    return encode_frame(Command(code, opaque=7, ext_fields=keyed, body=body, serialize_type=SerializeType.ROCKETMQ))


def send_fields(batch: bool) -> dict[str, str]:
    header = SendMessageRequestHeaderV2(
        producer_group="LOADGRP", topic="LoadTopic", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
        sys_flag=0, born_timestamp=int(time.time() * 1000), flag=0, properties="WAIT\x01true\x02TAGS\x01TagA",
        batch=batch,
    )  # fmt: skip
    return to_ext_fields(header)


def batch_body(count: int = 32, size: int = 128) -> bytes:
    """`size:i32 magic:i32 crc:i32 flag:i32 body properties`, back to back."""
    body, properties = b"x" * size, b"TAGS\x01TagA"
    one = b"".join((
        (4 * 5 + len(body) + 2 + len(properties)).to_bytes(4, "big"), bytes(12), len(body).to_bytes(4, "big"), body,
        len(properties).to_bytes(2, "big"), properties,
    ))  # fmt: skip
    return one * count


def frames() -> dict[str, bytes]:
    pull = {
        "consumerGroup": "LOADGRP", "topic": "LoadTopic", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32",
        "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*",
    }  # fmt: skip
    return {
        "single sends": signed(RequestCode.SEND_MESSAGE_V2, send_fields(False), b"x" * 128),
        "batches of 32": signed(RequestCode.SEND_BATCH_MESSAGE, send_fields(True), batch_body()),
        "pulls of 32": signed(RequestCode.PULL_MESSAGE, pull),
    }


Make = Callable[[Path, Mapping[str, str]], tuple[NameServer, Broker]]


def ours(folder: Path, conf: Mapping[str, str]) -> tuple[NameServer, Broker]:
    nameserver = SprocketNameServer(folder / "nameserver")
    return nameserver, SprocketBroker(folder / "broker", nameserver.address, {**CONF, **conf})


def apache(folder: Path, conf: Mapping[str, str]) -> tuple[NameServer, Broker]:
    nameserver = ApacheNameServer(folder / "nameserver")
    broker = ApacheBroker(folder / "broker", nameserver.address, {**CONF, **conf}, heap="2g", quick=False)
    return nameserver, broker


def add_user(broker: Broker) -> None:
    """A normal user with policies for the topic and the group, made over the wire by the first one."""
    from sprocketmq.client import Credentials
    from sprocketmq.client.sync.admin import AdminClient
    from sprocketmq.protocol.bodies.acl import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo

    keys = Credentials("bench-root", "bench-root-secret")
    entries = tuple(
        PolicyEntryInfo(resource=resource, actions=("Pub", "Sub"), decision="Allow")
        for resource in ("Topic:LoadTopic", "Group:LOADGRP")
    )
    with AdminClient("127.0.0.1:1", credentials=keys) as admin:
        admin.accounts.add_user(UserInfo(username=KEY, password=SECRET), broker=broker.address)
        policies = (PolicyInfo(policy_type="Custom", entries=entries),)
        admin.accounts.put_acl(AclInfo(subject=f"User:{KEY}", policies=policies), broker=broker.address)


#: Requests of a slice, for about a hundredth of a second of our broker; Apache's gets a part of them.
COUNTS = {"single sends": 1920, "batches of 32": 256, "pulls of 32": 1024}
APACHE_PART = 4


@contextmanager
def running(make: Make, folder: Path, names: Sequence[str]) -> Iterator[dict[str, Broker]]:
    """Brokers of which the one called `with` has accounts."""
    with ExitStack() as started:
        brokers = {}
        for name in names:
            nameserver, brokers[name] = make(folder / name, ACCOUNTS if name == "with" else {})
            for server in (nameserver, brokers[name]):
                server.start()
                started.callback(server.kill)
        add_user(brokers["with"])
        yield brokers


def one_start(sides: Mapping[str, Make], folder: Path, rounds: int) -> dict[str, Rounds]:
    """By kind of request."""
    servers: dict[str, tuple[int, int]] = {}
    os.sched_setaffinity(0, CORES)  # which the servers inherit
    with ExitStack() as started:
        for side, make in sides.items():
            for name, broker in started.enter_context(running(make, folder / side, NAMES[side])).items():
                servers[f"{side} {name}"] = broker.port, broker.pid
                if side == "ours":  # a JVM that has one core to itself is another one
                    keep_on_core(broker.pid, max(CORES))
        os.sched_setaffinity(0, {min(CORES)})
        parts = {name: APACHE_PART if name.startswith("Apache") else 1 for name in servers}
        return {
            what: in_turns(servers, frame, {name: COUNTS[what] // part for name, part in parts.items()}, rounds)
            for what, frame in frames().items()
        }


def report(side: str, what: str, starts: Sequence[Rounds]) -> None:
    costs = {
        name: statistics.median(statistics.median(found[f"{side} {name}"]) for found in starts) * 1e6
        for name in NAMES[side]
    }
    more = {name: price(starts, f"{side} {name}", f"{side} without") for name in NAMES[side][1:]}
    line = f"{side:7} {what:14} {costs['without']:6.2f} us without, {costs['with']:6.2f} with accounts: {more['with']}"
    if "again" in more:
        line += f", at most {AT_MOST:.0%}; without once more: {more['again']}"
    print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=40, help="of each start")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--apache", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    sides: dict[str, Make] = {"ours": ours, **({"Apache": apache} if chosen.apache else {})}
    starts: list[dict[str, Rounds]] = []
    with contextlib.suppress(KeyboardInterrupt):
        while len(starts) < chosen.starts:
            with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
                starts.append(one_start(sides, Path(folder), chosen.rounds))
    if chosen.json:
        print(json.dumps(starts))
        return
    for what in COUNTS if starts else ():
        for side in sides:
            report(side, what, [found[what] for found in starts])
    if len(starts) < ENOUGH:
        print(f"{len(starts)} starts: what is in brackets is their range, and no interval; it takes {ENOUGH}")


if __name__ == "__main__":
    main()
