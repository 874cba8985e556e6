"""The real Go client, v2, in a program that tests drive.  It writes JSON headers only."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

from tests.peers import toolchain
from tests.peers.cache import HERE, cached, digest
from tests.peers.clients import Options, PeerClient, Producer, PushConsumer, subscriptions_json
from tests.peers.lines import LinePeer
from tests.peers.messages import Queue, Received, Subscription

_SOURCES = HERE / "go"


@cache
def go_program() -> Path:
    """The compiled peer."""

    def build(directory: Path) -> None:
        command = [str(toolchain.go()), "build", "-o", str(directory / "peer"), "."]
        run = subprocess.run(command, cwd=_SOURCES, capture_output=True, text=True, check=False)
        if run.returncode:
            raise toolchain.ToolMissing(f"the Go peer did not build:\n{run.stderr[-4000:]}")

    return cached(f"go-{digest(sorted(_SOURCES.glob('*.*')))}", build) / "peer"


class GoPullConsumer(PeerClient):
    """Polls what its rebalance gives it, or pulls from a queue and an offset."""

    KIND = "pull_consumer"

    def poll(self, timeout: float = 5) -> list[Received]:
        """Some messages, acknowledged; none when the time passes."""
        found = self._op("poll", timeout=int(timeout * 1000), wait=timeout + 30)
        return [Received.from_json(message) for message in found]

    def pull(self, queue: Queue, offset: int, limit: int = 32) -> Mapping[str, Any]:
        """{"pullStatus", "nextBeginOffset", "minOffset", "maxOffset", "messages"}, the last as `Received`."""
        result: dict[str, Any] = self._op("pull_from", queue=queue.to_json(), offset=offset, limit=limit)
        return {**result, "messages": [Received.from_json(message) for message in result["messages"]]}

    def commit(self, queue: Queue, offset: int) -> None:
        self._op("commit", queue=queue.to_json(), offset=offset)


class GoAdmin(PeerClient):
    """Looks at the code of no answer: what it may not read it cannot read, and what it may not make is not made."""

    KIND = "admin"

    def groups(self, broker: str) -> list[str]:
        """The groups of a broker. It signs what it asks from here on, and nothing before."""
        found: list[str] = self._op("groups", broker=broker, timeout=30_000)
        return found

    def create_topic(self, broker: str, topic: str) -> None:
        self._op("create_topic", broker=broker, topic=topic)


class GoPeer:
    """One process with any number of clients.

    Producer options: retries, compressOver, namespace.  Consumer options: consumeTimestamp, maxReconsumeTimes,
    batchSize, pullBatchSize, suspendMs.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        # HOME is where a broadcasting consumer keeps its offsets.
        self.lines = LinePeer("Go v2", [go_program()], directory, environment={"HOME": str(directory)})

    def producer(
        self,
        group: str,
        nameserver: str,
        *,
        options: Options | None = None,
        transactional: bool = False,
        acl: tuple[str, str] | None = None,
    ) -> Producer:
        chosen = dict(options or {})
        return Producer(self.lines, group, nameserver, options=chosen, transactional=transactional, acl=acl)

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
        acl: tuple[str, str] | None = None,
    ) -> PushConsumer:
        chosen = {"broadcasting": broadcasting, "consumeFrom": consume_from, **(options or {})}
        flags: dict[str, Any] = {"orderly": orderly, "acl": acl, "script": dict(script or {})}
        named = subscriptions_json(subscriptions)
        return PushConsumer(self.lines, group, nameserver, options=chosen, subscriptions=named, **flags)

    def pull_consumer(
        self,
        group: str,
        nameserver: str,
        subscriptions: Sequence[Subscription | str],
        *,
        consume_from: str = "CONSUME_FROM_FIRST_OFFSET",
        options: Options | None = None,
        acl: tuple[str, str] | None = None,
    ) -> GoPullConsumer:
        chosen = {"consumeFrom": consume_from, **(options or {})}
        named = subscriptions_json(subscriptions)
        return GoPullConsumer(self.lines, group, nameserver, options=chosen, subscriptions=named, acl=acl)

    def admin(self, nameserver: str, *, acl: tuple[str, str] | None = None) -> GoAdmin:
        return GoAdmin(self.lines, "admin", nameserver, acl=acl)

    def close(self) -> None:
        self.lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
