"""Requests and records for tests of the rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sprocketmq.controller import elections, rules
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Living, Outcome, ReplicaStanding
from sprocketmq.protocol.bodies.controller import SyncStateSet
from sprocketmq.protocol.controller_fields import ReplicaFields
from sprocketmq.protocol.headers.controller import (
    AlterSyncStateSetRequestHeader,
    ApplyBrokerIdRequestHeader,
    CleanControllerBrokerDataRequestHeader,
    ElectMasterRequestHeader,
    RegisterBrokerToControllerRequestHeader,
)

NAME, CLUSTER = "ha-a", "HaCluster"


def living(*ids: int, **more: ReplicaStanding) -> Living:
    return {each: ReplicaStanding(epoch=1, max_offset=0) for each in ids} | {int(k[1:]): v for k, v in more.items()}


def address_of(broker_id: int) -> str:
    return f"127.0.0.1:{16090 + 10 * broker_id}"


def apply(record: BrokerSet | None, broker_id: int, code: str | None = None) -> Outcome:
    request = ApplyBrokerIdRequestHeader(
        cluster_name=CLUSTER,
        broker_name=NAME,
        applied_broker_id=broker_id,
        register_check_code=code or f"{address_of(broker_id)};1",
    )
    return rules.apply_broker_id(record, {}, request=request)


def register(record: BrokerSet | None, broker_id: int, alive: Living, **own: Any) -> Outcome:
    address = own.pop("address", address_of(broker_id))
    request = RegisterBrokerToControllerRequestHeader(
        cluster_name=CLUSTER, broker_name=NAME, broker_id=broker_id, broker_address=address
    )
    return rules.register(record, alive, request=request, own=ReplicaFields(**own))


def elect(
    record: BrokerSet | None, broker_id: int, alive: Living, *, designate: bool = False, unclean: bool = False
) -> Outcome:
    request = ElectMasterRequestHeader(
        cluster_name=CLUSTER, broker_name=NAME, broker_id=broker_id, designate_elect=designate
    )
    return elections.elect(record, alive, request=request, unclean=unclean)


def alter(
    record: BrokerSet | None, wanted: Iterable[int], alive: Living, *, master: int | None = None,
    epoch: int | None = None, set_epoch: int | None = None,
) -> Outcome:  # fmt: skip
    known = record or BrokerSet()
    request = AlterSyncStateSetRequestHeader(
        broker_name=NAME,
        master_broker_id=known.master if master is None else master,
        master_epoch=known.master_epoch if epoch is None else epoch,
    )
    body = SyncStateSet(
        sync_state_set=frozenset(wanted), sync_state_set_epoch=known.in_sync_epoch if set_epoch is None else set_epoch
    )
    return rules.alter(record, alive, request=request, wanted=body)


def clean(record: BrokerSet | None, ids: str, alive: Living, *, even_living: bool = False) -> Outcome:
    request = CleanControllerBrokerDataRequestHeader(
        cluster_name=CLUSTER, broker_name=NAME, broker_controller_ids_to_clean=ids, is_clean_living_broker=even_living
    )
    return rules.clean(record, alive, request=request)


def kept(outcome: Outcome) -> BrokerSet:
    assert outcome.record is not None
    return outcome.record


def three() -> BrokerSet:
    """Three replicas, the first of which reigns, with the second in sync."""
    record = kept(apply(kept(apply(kept(apply(None, 1)), 2)), 3))
    return kept(alter(kept(elect(record, 1, {})), {1, 2}, living(1, 2, 3)))
