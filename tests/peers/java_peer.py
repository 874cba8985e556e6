"""The real Java clients, 4.9.8 and 5.3.3, in a JVM that tests drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from tests.peers.clients import (
    Admin,
    LitePullConsumer,
    Options,
    Producer,
    PullConsumer,
    PushConsumer,
    subscriptions_json,
)
from tests.peers.jars import peer_class_path
from tests.peers.jvm import java_command
from tests.peers.lines import LinePeer
from tests.peers.messages import Subscription

JavaVersion = Literal["4.9.8", "5.3.3"]
JAVA_VERSIONS: tuple[JavaVersion, ...] = ("4.9.8", "5.3.3")
Serialization = Literal["JSON", "ROCKETMQ"]

# Rebalance, offset commits and route refreshes are timers; tests would wait for them.
_EAGER: Options = {
    "pollNameServerInterval": 1000,
    "heartbeatBrokerInterval": 2000,
    "persistConsumerOffsetInterval": 1000,
}


class JavaPeer:
    """One JVM with any number of clients; `serialization` is the header form all of them use.

    `properties` are those of the JVM; `options` name bean properties of the Java client (sendMsgTimeout,
    retryTimesWhenSendFailed, consumeThreadMin ...).
    """

    def __init__(
        self, version: JavaVersion, directory: Path, serialization: Serialization = "JSON", *,
        properties: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        directory.mkdir(parents=True, exist_ok=True)
        self.version = version
        chosen = {
            "rocketmq.serialize.type": serialization,
            "rocketmq.client.rebalance.waitInterval": "1000",
            "rocketmq.client.logUseSlf4j": "false",
            **(properties or {}),
        }
        command = java_command(peer_class_path(version), "peer.Main", home=directory, properties=chosen)
        self.lines = LinePeer(f"Java {version}", command, directory)

    def producer(
        self,
        group: str,
        nameserver: str,
        *,
        options: Options | None = None,
        transactional: bool = False,
        trace: bool = False,
        acl: tuple[str, str] | None = None,
    ) -> Producer:
        flags: dict[str, Any] = {"transactional": transactional, "trace": trace, "acl": acl}
        chosen = {**_EAGER, "sendMsgTimeout": 30_000, **(options or {})}
        return Producer(self.lines, group, nameserver, options=chosen, **flags)

    def push_consumer(
        self,
        group: str,
        nameserver: str,
        subscriptions: Sequence[Subscription | str],
        *,
        orderly: bool = False,
        broadcasting: bool = False,
        consume_from: str = "CONSUME_FROM_FIRST_OFFSET",
        options: Options | None = None,
        script: Options | None = None,
        trace: bool = False,
        acl: tuple[str, str] | None = None,
    ) -> PushConsumer:
        """`consume_from` counts for groups without offsets only, as in RocketMQ."""
        chosen = {
            **_EAGER,
            "messageModel": "BROADCASTING" if broadcasting else "CLUSTERING",
            "consumeFromWhere": consume_from,
            **(options or {}),
        }
        flags: dict[str, Any] = {"orderly": orderly, "trace": trace, "acl": acl, "script": dict(script or {})}
        named = subscriptions_json(subscriptions)
        return PushConsumer(self.lines, group, nameserver, options=chosen, subscriptions=named, **flags)

    def lite_pull_consumer(
        self,
        group: str,
        nameserver: str,
        subscriptions: Sequence[Subscription | str] = (),
        *,
        consume_from: str = "CONSUME_FROM_FIRST_OFFSET",
        options: Options | None = None,
        acl: tuple[str, str] | None = None,
    ) -> LitePullConsumer:
        """Without subscriptions it is for `assign`."""
        chosen = {**_EAGER, "consumeFromWhere": consume_from, **(options or {})}
        named = subscriptions_json(subscriptions)
        return LitePullConsumer(self.lines, group, nameserver, options=chosen, subscriptions=named, acl=acl)

    def pull_consumer(
        self, group: str, nameserver: str, *, options: Options | None = None, acl: tuple[str, str] | None = None
    ) -> PullConsumer:
        return PullConsumer(self.lines, group, nameserver, options={**_EAGER, **(options or {})}, acl=acl)

    def admin(self, nameserver: str, *, timeout: float = 60, acl: tuple[str, str] | None = None) -> Admin:
        return Admin(self.lines, "admin", nameserver, timeout=int(timeout * 1000), acl=acl)

    def close(self) -> None:
        self.lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
