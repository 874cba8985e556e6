"""What a controller tells of a broker set: who is the master, since which epoch, and who is in sync."""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.controller import ElectMasterResponseBody, SyncStateSet
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.controller_fields import MasterFields
from sprocketmq.protocol.fields import Long, wire
from sprocketmq.protocol.header import from_ext_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """The fields that answers to 1002, 1003, 1004 and notice 1008 share; 1004 has the set's epoch in its body alone."""

    master_broker_id: Long | None = wire("masterBrokerId", default=None)
    master_address: str | None = wire("masterAddress", default=None)
    master_epoch: int | None = wire("masterEpoch", default=None)
    sync_state_set_epoch: int | None = wire("syncStateSetEpoch", default=None)


@dataclass(frozen=True, slots=True)
class Reign:
    master_id: int
    master_address: str
    epoch: int
    members: frozenset[int]
    set_epoch: int
    ha_address: str = ""
    lease_ms: int = 0


def reign_in(command: Command) -> Reign | None:
    """None when there is no master, or nothing is told of one."""
    told = from_ext_fields(_Told, command.ext_fields or {})
    extra = from_ext_fields(MasterFields, command.ext_fields or {})
    if told.master_broker_id is None or told.master_epoch is None or not told.master_address:
        return None
    members, set_epoch = _set_in(bytes(command.body), told.sync_state_set_epoch)
    return Reign(
        told.master_broker_id, told.master_address, told.master_epoch, members, set_epoch,
        extra.master_ha_address or "", extra.lease_millis or 0,
    )  # fmt: skip


def _set_in(body: bytes, set_epoch: int | None) -> tuple[frozenset[int], int]:
    if not body:
        return frozenset(), set_epoch or 0
    found = codec.decode(SyncStateSet, body)
    if found.sync_state_set_epoch or set_epoch is None:
        return found.sync_state_set, found.sync_state_set_epoch
    return codec.decode(ElectMasterResponseBody, body).sync_state_set, set_epoch
