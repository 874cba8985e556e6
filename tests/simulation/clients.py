"""Clients of a simulated cluster: what they do and are told goes into a history."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.fault.history.events import OpenCall
from tests.simulation.brokers import BrokerModel
from tests.simulation.disk import Entry

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster

TOPIC, GROUP = "t", "g"
_TIMEOUT_MS = 800
_QUEUES = 2


class Sending:
    """One call of a producer at one broker; it ends once, in one of four ways."""

    def __init__(self, cluster: Cluster, call: OpenCall, queue: int, then: Callable[[], None]) -> None:
        self._cluster, self._call, self._queue, self._then = cluster, call, queue, then
        self.at = -1
        self._over = False
        cluster.time.after(_TIMEOUT_MS, self.unknown)

    def promised(self, broker: BrokerModel) -> None:
        offset = len(broker.disk.visible(self._queue, self.at)) if self._queue >= 0 else 0
        self._cluster.network.send(broker.name, "client", self._answered, offset)

    def _answered(self, offset: int) -> None:
        if not self._over:
            self._over = True
            self._call.ok(**({"offset": offset} if self._queue >= 0 and self._call.call.name == "send" else {}))
            self._then()

    def refused(self) -> None:
        """The broker has stored nothing, and says so; at worst the answer is lost."""
        if not self._over:
            self._over = True
            self._call.fail()
            self._then()

    def unknown(self) -> None:
        if not self._over:
            self._over = True
            self._call.info()
            self._then()


class Producer:
    """Messages to one queue, one after the other; now and then a transaction."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self._cluster = cluster
        self._name = f"p{number}"
        self._queue = number % _QUEUES
        self._count = 0
        cluster.time.after(100, self._next)

    def _next(self) -> None:
        cluster = self._cluster
        if cluster.ended:
            return
        self._count += 1
        uid = f"{self._name}-{self._count}"
        if cluster.time.random.random() < 0.15:
            self._half(uid)
            return
        call = cluster.history.begin(self._name, "send", topic=TOPIC, queue=self._queue, uids=[uid])
        self._send(Entry(0, uid, self._queue), Sending(cluster, call, self._queue, self._rest))

    def _half(self, uid: str) -> None:
        call = self._cluster.history.begin(self._name, "half", topic=TOPIC, uid=uid)
        self._send(Entry(0, uid), Sending(self._cluster, call, -1, lambda: self._decide(uid, call, 2)))

    def _decide(self, uid: str, half: OpenCall, tries: int) -> None:
        """A decision whose outcome is unknown is asked for again."""
        if not half.call.is_ok or not tries or self._cluster.ended:
            self._rest()
            return
        commit = uid[-1] not in "05"
        call = self._cluster.history.begin(self._name, "decide", uid=uid, commit=commit)

        def then() -> None:
            if call.call.is_ok:
                self._rest()
            else:
                self._cluster.time.after(50, self._decide, uid, half, tries - 1)

        sending = Sending(self._cluster, call, -1, then)
        self._send(Entry(0, uid if commit else f"rolled back {uid}", self._queue if commit else -1, uid), sending)

    def _send(self, entry: Entry, sending: Sending) -> None:
        broker = self._cluster.route()
        if broker is None:
            sending.refused()
            return
        life = broker.life

        def arrive() -> None:
            if not broker.alive or broker.life != life:
                return
            if broker.paused:
                self._cluster.time.after(50, arrive)
            elif entry.ends and broker.is_master and broker.is_ended(entry.ends):
                broker.wait_for(max(at for at, each in enumerate(broker.disk.log) if each.ends == entry.ends), sending)
            else:
                broker.append(entry, sending)

        self._cluster.network.send("client", broker.name, arrive)

    def _rest(self) -> None:
        self._cluster.time.after(20 + int(self._cluster.time.random.random() * 60), self._next)


class Consumer:
    """Reads a queue from what was committed, commits, and asks again what was committed when the master changes."""

    def __init__(self, cluster: Cluster, queue: int) -> None:
        self._cluster, self._queue = cluster, queue
        self._name = f"c{queue}"
        self._at: int | None = None
        self._master = 0
        cluster.time.after(150, self._turn)

    def _turn(self) -> None:
        cluster = self._cluster
        if cluster.ended:
            return
        cluster.time.after(cluster.time.random.randint(60, 160), self._turn)
        broker = cluster.route()
        if broker is None or not broker.alive or broker.paused or not broker.is_master:
            return
        if ("client", broker.name) in cluster.network.cut or (broker.name, "client") in cluster.network.cut:
            return
        if broker.id != self._master or self._at is None:
            self._master = broker.id
            self._fetch(broker)
        else:
            self._read(broker)

    def _fetch(self, broker: BrokerModel) -> None:
        call = self._cluster.history.begin(self._name, "fetch", group=GROUP, topic=TOPIC, queue=self._queue)
        committed = broker.consumed.get(self._queue)
        call.ok(offset=committed)
        self._at = committed or 0

    def _read(self, broker: BrokerModel) -> None:
        assert self._at is not None
        self._at = read(self._cluster, self._name, broker, self._queue, self._at)
        call = self._cluster.history.begin(
            self._name, "commit", group=GROUP, topic=TOPIC, queue=self._queue, offset=self._at
        )
        broker.consumed[self._queue] = max(broker.consumed.get(self._queue, 0), self._at)
        call.ok()


def read(cluster: Cluster, who: str, broker: BrokerModel, queue: int, at: int, *, final: bool = False) -> int:
    """Read from `at` to the end of what may be read; where that is."""
    more = {"final": True} if final else {}
    call = cluster.history.begin(who, "read", topic=TOPIC, queue=queue, at=at, node=broker.name, **more)
    uids = broker.readable(queue)
    upto = max(at, len(uids))
    call.ok(found=[(offset, uids[offset]) for offset in range(at, len(uids))], upto=upto)
    return upto
