"""What happens to the cluster, each for some seconds: a lease of 2 s runs out, another master is elected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from tests.fault.partitions.machines import BROKERS, CLIENT, CONTROLLERS, Machine, Machines

_HOLD_S = 3.5
_SLOW_KBIT = 200


class Nemeses:
    """Each strikes and returns how it is undone."""

    def __init__(self, machines: Machines, random: Random) -> None:
        self._machines, self._random = machines, random

    async def strike(self, kind: str) -> None:
        """The whole of it: the fault, its time, its end."""
        undo = await asyncio.to_thread(KINDS[kind], self)
        await asyncio.sleep(_HOLD_S)
        await asyncio.to_thread(undo)

    def _victim(self) -> Machine:
        """The master three times of four."""
        return self._machines.master if self._random.random() < 0.75 else self._random.choice(self._machines.brokers)

    def kill(self) -> Callable[[], object]:
        victim = self._victim()
        victim.kill()
        return victim.start

    def pause(self) -> Callable[[], object]:
        victim = self._victim()
        victim.pause()
        return victim.wake

    def partition(self) -> Callable[[], object]:
        """A broker alone; in half of the cases clients still reach it."""
        others = [*BROKERS, *CONTROLLERS, "names"]
        if self._random.random() < 0.5:
            others.append(CLIENT)
        self._machines.net.cut_off(self._victim().node, others)
        return self._machines.net.heal

    def one_way(self) -> Callable[[], object]:
        """A broker that hears and is not heard, or the other way round."""
        victim = self._victim().node
        others = [each for each in (*BROKERS, *CONTROLLERS) if each != victim]
        hears = self._random.random() < 0.5
        self._machines.net.cut(*((victim, each) if hears else (each, victim) for each in others))
        return self._machines.net.heal

    def slow_link(self) -> Callable[[], object]:
        self._machines.net.slow(self._victim().node, _SLOW_KBIT)
        return self._machines.net.heal

    def etcd_minority(self) -> Callable[[], object]:
        victim = self._random.choice(self._machines.etcd)
        victim.kill()
        return victim.start

    def etcd_gone(self) -> Callable[[], object]:
        for each in self._machines.etcd:
            each.pause()

        def wake() -> None:
            for each in self._machines.etcd:
                each.wake()

        return wake

    def controller_gone(self) -> Callable[[], object]:
        """The one that leads, or both."""
        victims = [self._machines.leader] if self._random.random() < 0.5 else self._machines.controllers
        for each in victims:
            each.kill()

        def start() -> None:
            for each in victims:
                each.start()

        return start


KINDS: dict[str, Callable[[Nemeses], Callable[[], object]]] = {
    "kill": Nemeses.kill,
    "pause": Nemeses.pause,
    "partition": Nemeses.partition,
    "one-way": Nemeses.one_way,
    "slow-link": Nemeses.slow_link,
    "etcd-minority": Nemeses.etcd_minority,
    "etcd-gone": Nemeses.etcd_gone,
    "controller-gone": Nemeses.controller_gone,
}
