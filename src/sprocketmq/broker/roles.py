"""What this broker is to the others of its name.

    master   takes messages, delivers what rests, and gives its log to slaves
    slave    copies the log and the tables of its master, and serves readers
    fenced   has no role yet or has lost it: takes nothing, copies nothing, and serves what it has

A plain broker is what its configuration says for as long as it runs. Under a controller the role changes: whoever
learns of it calls `become`, and everything that depends on the role hangs on `on_change`. A role is one value, so
nobody sees half of a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from sprocketmq.broker.config import BrokerConfig, BrokerRole

#: What every master is called at a nameserver.
MASTER_ID = 0


class Role(Enum):
    MASTER = "master"
    SLAVE = "slave"
    FENCED = "fenced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """
    broker_id        what nameservers and clients know this broker by
    epoch            counts the masters of the name; 0 without a controller
    synchronous      a master acknowledges what its replicas have, see `replication`
    master_address   where a slave's master answers requests, once that is known
    ha_address       and where it gives its log
    """

    role: Role
    broker_id: int = MASTER_ID
    epoch: int = 0
    synchronous: bool = False
    master_address: str = ""
    ha_address: str = ""

    @property
    def is_master(self) -> bool:
        return self.role is Role.MASTER

    @property
    def is_slave(self) -> bool:
        return self.role is Role.SLAVE


#: Told of the standing before and of the one that holds now.
RoleChanged = Callable[[Standing, Standing], object]


class Roles:
    def __init__(self, standing: Standing) -> None:
        self.current = standing
        #: Called in the order of the list, which is that of a start: what others rest on comes first.
        self.on_change: list[RoleChanged] = []

    def become(self, standing: Standing) -> None:
        """Take a role, or a new epoch of the same."""
        before, self.current = self.current, standing
        if standing != before:
            for hook in self.on_change:
                hook(before, standing)

    def follow(self, master_address: str | None = None, ha_address: str | None = None) -> None:
        """A slave has learned where its master is; what is None stays as it is known."""
        if self.current.is_slave:
            known = self.current
            self.become(
                replace(
                    known,
                    master_address=known.master_address if master_address is None else master_address,
                    ha_address=known.ha_address if ha_address is None else ha_address,
                )
            )


def standing_of(config: BrokerConfig) -> Standing:
    """What a broker is when it starts: with a controller it has no role before it is told."""
    if config.enable_controller_mode:
        return Standing(role=Role.FENCED)
    if config.broker_role is BrokerRole.SLAVE:
        return Standing(role=Role.SLAVE, broker_id=config.broker_id, ha_address=config.ha_master_address)
    return Standing(role=Role.MASTER, synchronous=config.broker_role is BrokerRole.SYNC_MASTER)
