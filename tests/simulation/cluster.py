"""A whole cluster by seed: three brokers, two controllers, clients and faults; then peace, and a last look at all.

One thing is excused, and counted, for `docs/replication.md` promises nothing there: a replica loses its log, or without
SYNC_FLUSH its power, the master is lost before that replica is missed, and the controller elects it.
"""

from __future__ import annotations

from tests.fault.history.checker import check
from tests.fault.history.events import History
from tests.fault.history.findings import Finding
from tests.simulation.brokers import BrokerModel
from tests.simulation.clients import Consumer, Producer, read
from tests.simulation.controllers import ControllerModel, Engine
from tests.simulation.faults import TROUBLE_MS, Faults
from tests.simulation.flaws import Flaw
from tests.simulation.timeline import Network, Timeline
from tests.unit.controller.support import apply, kept

IDS = (1, 2, 3)
EXCUSED = "excused"
_PEACE_MS = 8_000


class Cluster:
    def __init__(self, seed: int, flaw: Flaw | None = None) -> None:
        self.seed = seed
        self.time = Timeline(seed)
        self.network = Network(self.time)
        self.flaw = flaw
        self.sync_flush = seed % 2 == 0
        self.sync_ms = self.time.random.choice([20, 100]) if self.sync_flush else 800
        self.ended = False
        self.excused = False
        #: Replicas that would wait for an operator: among the epochs of one engine that must not be.
        self.undecided: list[str] = []
        self.connections = 0
        self.history = History(lambda: self.time.now)
        self.engine = Engine(self)
        self.engine.record = kept(apply(kept(apply(kept(apply(None, 1)), 2)), 3))
        self.controllers = [ControllerModel(self, f"k{at}") for at in range(2)]
        self.brokers = [BrokerModel(self, each) for each in IDS]
        self.faults = Faults(self)

    def broker(self, broker_id: int) -> BrokerModel:
        return self.brokers[broker_id - 1]

    def led(self, broker: BrokerModel) -> None:
        self.history.begin(broker.name, "lead", node=broker.name, epoch=broker.epoch).ok()

    def crown(self, broker_id: int | None, heard_in: object) -> None:
        """The controller elects somebody whom it takes to be alive, for it was heard in a life that may be over."""
        broker = None if broker_id is None else self.broker(broker_id)
        if broker is None:
            return
        unheard = (broker.set_back or broker.unclean) and (heard_in != broker.life or not broker.alive)
        if not self.sync_flush:
            unheard = unheard or broker.lost_power or broker.disk.failed
        self.excused = self.excused or broker.wiped or unheard

    def route(self) -> BrokerModel | None:
        """What a nameserver tells: of those who say they reign, the one of the newest epoch; sometimes an older one."""
        reigning = sorted((each for each in self.brokers if each.is_master), key=lambda each: -each.epoch)
        if len(reigning) > 1 and self.time.random.random() < 0.3:
            return reigning[1]
        return reigning[0] if reigning else None

    def run(self) -> list[Finding]:
        fault = self.history.begin("nemesis", "fault", kind="kill")  # offsets may go back, nothing may be lost
        for number in range(2):
            Producer(self, number)
        for queue in range(2):
            Consumer(self, queue)
        self.time.run(TROUBLE_MS)
        self.faults.heal()
        self.ended = True
        self.time.run(TROUBLE_MS + _PEACE_MS)
        fault.ok()
        self._look()
        return check(self.history)

    def _look(self) -> None:
        """What is left at the master, and whether those in sync have the same."""
        master = self.reigning
        if master is None:
            self.history.begin("end", "read", topic="nobody reigns", queue=0, at=0).info()
            return
        for queue in range(2):
            read(self, "end", master, queue, 0, final=True)
        assert self.engine.record is not None
        for each in map(self.broker, sorted(self.engine.record.in_sync)):
            digests = [f"{entry.epoch} {entry.uid}" for entry in each.disk.log[: master.confirmed]]
            self.history.begin(each.name, "log", node=each.name).ok(digests=digests)

    @property
    def reigning(self) -> BrokerModel | None:
        record = self.engine.record
        assert record is not None
        return next((each for each in self.brokers if each.is_master and each.id == record.master), None)

    @property
    def is_served(self) -> bool:
        return self.reigning is not None and self.reigning.confirmed == len(self.reigning.disk.log)


def run(seed: int, flaw: Flaw | None = None) -> list[str]:
    """What was wrong; a cluster that is not served again in peace is wrong as well."""
    cluster = Cluster(seed, flaw)
    found = [str(finding) for finding in cluster.run()]
    if cluster.excused and found:
        found = [f"{EXCUSED}, {found[0]}"]
    found += [f"stuck: {each}" for each in cluster.undecided]
    return found if cluster.is_served else [*found, "stuck: nobody serves, though nothing is broken any more"]
