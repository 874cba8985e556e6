"""How long nobody can write when a master is lost, ours beside Apache's, and whether anything promised is lost.

    python -m bench.failover --kills 5 --pauses 3 --cuts 3 --kinds sprocket apache

A set of two brokers under a controller of the same maker, a nameserver of ours, two senders of ours. A master is killed
(or stopped, as one that hangs; or cut off from everybody), the longest time without a promise after that is taken, then
it comes back and the set must be whole again. With --cuts each broker has a network namespace of its own, which needs
root and iproute2; packets to and from the master vanish then, and no connection closes. At the end every promise is
looked for. A send has half a second, for one that waits for a master that hangs sees no other. Apache's brokers have
allAckInSyncStateSet=true; by its own default promises are lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from tests.peers.broker_set import CLIENT, BrokerSet, Load, lost
from tests.peers.controllers import ApacheController, SprocketController
from tests.peers.namespaces import NETWORK, Namespaces, run_inside
from tests.peers.servers import Broker

NODES = (CLIENT, "0", "1")
CONTROLLERS = {"sprocket": SprocketController, "apache": ApacheController}


class Figures:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.killed: list[float] = []
        self.paused: list[float] = []
        self.cut: list[float] = []
        self.whole: list[float] = []
        self.promised = self.lost = 0

    def line(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "killed_s": _spread(self.killed),
            "hung_s": _spread(self.paused),
            "cut_off_s": _spread(self.cut),
            "whole_again_s": _spread(self.whole),
            "promised": self.promised,
            "lost": self.lost,
        }


def _spread(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    ranked = [round(value, 2) for value in sorted(values)]
    p99 = ranked[len(ranked) * 99 // 100]
    return {"n": len(ranked), "p50": statistics.median(ranked), "p99": p99, "max": ranked[-1]}


async def measure(
    brokers: BrokerSet, figures: Figures, kills: int, pauses: int, cuts: int, net: Namespaces | None
) -> None:
    async with Load(brokers.nameserver.address, timeout=0.5) as load:
        await load.more(100)
        for _ in range(kills):
            await lose_master(brokers, load, figures.killed, figures.whole, Broker.kill, Broker.start)
        for _ in range(pauses):
            await lose_master(brokers, load, figures.paused, figures.whole, _stop, _wake)
        for _ in range(cuts if net is not None else 0):
            assert net is not None
            cut, heal = partial(_cut_off, net, brokers), lambda _broker: net.heal()
            await lose_master(brokers, load, figures.cut, figures.whole, cut, heal)
    figures.promised += len(load.acked)
    figures.lost += len(await lost(brokers.nameserver.address, load.acked))


async def lose_master(brokers: BrokerSet, load: Load, gaps: list[float], whole: list[float], lose, back) -> None:  # type: ignore[no-untyped-def]
    old = brokers.master
    assert old is not None
    since = time.monotonic()
    lose(old)
    await asyncio.to_thread(brokers.wait_master_not, old)
    await load.more(100)
    gaps.append(load.longest_gap(since))
    await asyncio.to_thread(back, old)
    returned = time.monotonic()
    await asyncio.to_thread(brokers.wait_whole)
    whole.append(time.monotonic() - returned)
    await load.more(100)


def _stop(broker: Broker) -> None:
    os.kill(broker.pid, signal.SIGSTOP)


def _wake(broker: Broker) -> None:
    os.kill(broker.pid, signal.SIGCONT)


def _cut_off(net: Namespaces, brokers: BrokerSet, broker: Broker) -> None:
    net.cut_off(str(brokers.brokers.index(broker)), net.nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--pauses", type=int, default=3)
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=["sprocket", "apache"], choices=list(CONTROLLERS))
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cuts and not asked.inside:
        sys.exit(run_inside("bench.failover", NODES, sys.argv[1:]))
    net = Namespaces(asked.inside, NODES) if asked.inside else None
    for kind in asked.kinds:
        figures = Figures(kind)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            controller = CONTROLLERS[kind](root / "controller", {"brokerAllowFrom": NETWORK, "adminAllowFrom": NETWORK})
            with BrokerSet(root, controller, [kind, kind], net=net) as brokers:
                asyncio.run(measure(brokers, figures, asked.kills, asked.pauses, asked.cuts, net))
        print(json.dumps(figures.line()), flush=True)


if __name__ == "__main__":
    main()
