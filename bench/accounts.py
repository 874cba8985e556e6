"""What accounts cost: the broker's CPU with signed requests, beside the same requests without accounts.

    python -m bench.accounts [--messages N] [--rounds N] [--apache] [--json]

Two brokers, one with accounts and one without, get the same signed frames in turn: single sends, batches of 32 and
pulls of 32 messages, from a client of plain sockets. The price of access control shall be at most a tenth of the
broker's CPU: the median of the rounds' prices, each from two figures that were taken one after the other. With
`--apache` two brokers of Apache RocketMQ 5.3.3, one with its ACL 2.0, take part in the same rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from bench.broker import CONF
from bench.tls import Figure, measure, median
from tests.peers.apache import ApacheBroker, ApacheNameServer
from tests.peers.servers import Broker, NameServer
from tests.peers.sprocket import SprocketBroker, SprocketNameServer

from sprocketmq.codes import RequestCode, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.pull import PullMessageRequestHeader
from sprocketmq.protocol.headers.send import SendMessageRequestHeaderV2
from sprocketmq.protocol.signing import with_signature

KEY, SECRET = "bench-user", "bench-secret-1"
AT_MOST = 0.10
ROUNDS = 5
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
    pull = PullMessageRequestHeader(
        consumer_group="LOADGRP", topic="LoadTopic", queue_id=0, queue_offset=0, max_msg_nums=32, sys_flag=4,
        commit_offset=0, suspend_timeout_millis=0, sub_version=0, subscription="*",
    )  # fmt: skip
    return {
        "single sends": signed(RequestCode.SEND_MESSAGE_V2, send_fields(False), b"x" * 128),
        "batches of 32": signed(RequestCode.SEND_BATCH_MESSAGE, send_fields(True), batch_body()),
        "pulls of 32": signed(RequestCode.PULL_MESSAGE, to_ext_fields(pull)),
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


#: By side and by "with" or "without", the rounds of one kind of request.
Rounds = dict[str, dict[str, list[Figure]]]


@contextmanager
def running(make: Make, folder: Path) -> Iterator[dict[str, Broker]]:
    """Two brokers, of which one has accounts."""
    pairs = {"without": make(folder / "without", {}), "with": make(folder / "with", ACCOUNTS)}
    with ExitStack() as started:
        for pair in pairs.values():
            for server in pair:
                server.start()
                started.callback(server.kill)
        brokers = {name: broker for name, (_, broker) in pairs.items()}
        add_user(brokers["with"])
        yield brokers


def in_turn(sides: Mapping[str, Mapping[str, Broker]], frame: bytes, counts: Mapping[str, int], rounds: int) -> Rounds:
    """A slow spell of the machine hits all of them."""
    found: Rounds = {side: {name: [] for name in brokers} for side, brokers in sides.items()}
    for number in range(rounds + 1):
        for side, brokers in sides.items():
            for name, broker in brokers.items():
                figure = measure(broker.port, broker.pid, None, frame, counts[side])
                if number:  # the first is to warm up
                    found[side][name].append(figure)
    return found


def price(pair: Mapping[str, list[Figure]]) -> float:
    """Of one round the machine is the same for both, of two it may not be."""
    return statistics.median(
        after.cpu_seconds_per_million / before.cpu_seconds_per_million - 1
        for before, after in zip(pair["without"], pair["with"], strict=True)
    )


def report(what: str, found: Rounds) -> None:
    for side, pair in found.items():
        before, after = median(pair["without"]), median(pair["with"])
        print(
            f"{side:7} {what:15} CPU {before.cpu_seconds_per_million:6.2f} us without, "
            f"{after.cpu_seconds_per_million:6.2f} with accounts: {price(pair):+.1%}  (at most {AT_MOST:.0%}); "
            f"{before.messages_per_second:9,.0f} and {after.messages_per_second:9,.0f} requests/s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--apache", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    counts = {"ours": chosen.messages, "Apache": max(chosen.messages // 5, 2000)}
    makes: dict[str, Make] = {"ours": ours}
    if chosen.apache:
        makes["Apache"] = apache
    with tempfile.TemporaryDirectory() as folder, ExitStack() as started:
        sides = {side: started.enter_context(running(make, Path(folder) / side)) for side, make in makes.items()}
        found = {what: in_turn(sides, frame, counts, chosen.rounds) for what, frame in frames().items()}
    if chosen.json:
        print(json.dumps(found, default=asdict))
        return
    for what, each in found.items():
        report(what, each)


if __name__ == "__main__":
    main()
