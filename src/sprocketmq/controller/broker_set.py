"""What a controller remembers of one broker set. An engine keeps it as one value, and replaces it as a whole.

    replica     one broker of the set, by the id that it was given for good; `check_code` proves whose id it is
    in_sync     the replicas that have every promised message (RocketMQ's syncStateSet); one of them is the next master
    *_epoch     count elections and changes of the set; a request that knows an older one is refused

`in_sync` is empty until the first election and never after it: a set whose last member is removed is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.fields import Long, wire

FIRST_BROKER_ID = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRecord:
    broker_id: Long = wire("brokerId", default=0)
    address: str = wire("address", default="")
    check_code: str = wire("checkCode", default="")
    ha_address: str | None = wire("haAddress", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSet:
    cluster: str = wire("cluster", default="")
    name: str = wire("brokerName", default="")
    next_broker_id: Long = wire("nextBrokerId", default=FIRST_BROKER_ID)
    replicas: tuple[ReplicaRecord, ...] = wire("replicas", default=())
    master: Long | None = wire("master", default=None)
    master_epoch: int = wire("masterEpoch", default=0)
    in_sync: frozenset[Long] = wire("inSync", default=frozenset())
    in_sync_epoch: int = wire("inSyncEpoch", default=0)

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(each.broker_id for each in self.replicas)

    @property
    def addresses(self) -> dict[int, str]:
        return {each.broker_id: each.address for each in self.replicas}

    def replica(self, broker_id: int | None) -> ReplicaRecord | None:
        return next((each for each in self.replicas if each.broker_id == broker_id), None)

    @property
    def master_address(self) -> str | None:
        return None if (master := self.replica(self.master)) is None else master.address

    @property
    def master_ha_address(self) -> str | None:
        return None if (master := self.replica(self.master)) is None else master.ha_address

    def with_replica(self, changed: ReplicaRecord) -> BrokerSet:
        """This set with `changed` as the replica of its id, new or not."""
        others = (each for each in self.replicas if each.broker_id != changed.broker_id)
        return replace(self, replicas=tuple(sorted((*others, changed), key=lambda each: each.broker_id)))

    def with_in_sync(self, ids: Iterable[int]) -> BrokerSet:
        return replace(self, in_sync=frozenset(ids), in_sync_epoch=self.in_sync_epoch + 1)

    def with_master(self, master: int | None) -> BrokerSet:
        """A new reign; also when it is nobody's, for the old master's requests must be refused from now on."""
        return replace(self, master=master, master_epoch=self.master_epoch + 1)

    def encode(self) -> bytes:
        return codec.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> BrokerSet:
        return codec.decode(cls, data)
