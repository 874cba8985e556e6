"""The controller's decisions, and nothing else: what is remembered and a request give what is remembered and an answer.

No clock, no connection, no engine. Who lives is told by `living`: the replicas that were heard of, each with what it
last said of its log. Codes, remarks and the order of the checks are those of RocketMQ 5.3.3 (`ReplicasInfoManager`),
for brokers act on them. Where it would lose what was promised, or count without end, the rule is ours and says so.

Every promised message is in every member of `in_sync`, so whoever is elected from it has them all. This keeps it true:
    alter     only the master changes the set, only at the epochs that are in force, only by replicas that live
    elect     only a living member is elected, unless the operator allows otherwise; the set is then the master alone,
              and the others must catch up with it before it lets them in again
    distrust  a replica that has less of its log than it once confirmed leaves the set; RocketMQ lets it stay
    register  a replica that may have lost its tail leaves the set, before it can be elected; a master that comes up
              again reigns in a new epoch. RocketMQ lets it go on in its old one: what it had sent and lost is then in
              the epoch of what it writes in its place, and the logs of master and slave differ unseen. An id that
              lives is nobody else's: RocketMQ gives it to a broker that was started on a copy of a store, and both
              confirm, or reign in one epoch
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sprocketmq.codes import ResponseCode
from sprocketmq.controller.broker_set import FIRST_BROKER_ID, BrokerSet, ReplicaRecord
from sprocketmq.controller.decisions import Answer, Living, Outcome, refused, reign, set_body
from sprocketmq.protocol.bodies.controller import SyncStateSet
from sprocketmq.protocol.controller_fields import ReplicaFields
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.controller import (
    AlterSyncStateSetRequestHeader,
    AlterSyncStateSetResponseHeader,
    ApplyBrokerIdRequestHeader,
    ApplyBrokerIdResponseHeader,
    CleanControllerBrokerDataRequestHeader,
    RegisterBrokerToControllerRequestHeader,
    RegisterBrokerToControllerResponseHeader,
)

#: Replicas of one set. RocketMQ has no bound; nobody needs this many, and a record must stay small.
MAX_REPLICAS = 128


# -- ids ----------------------------------------------------------------------------------------------------------


def next_broker_id(record: BrokerSet | None) -> int:
    return FIRST_BROKER_ID if record is None else record.next_broker_id


def apply_broker_id(record: BrokerSet | None, _living: Living, *, request: ApplyBrokerIdRequestHeader) -> Outcome:
    """Give an id to the broker that shows a check code; the same broker may ask again."""
    cluster, name = request.cluster_name or "", request.broker_name or ""
    broker_id, code = request.applied_broker_id or 0, request.register_check_code or ""
    ext_fields = to_ext_fields(ApplyBrokerIdResponseHeader(cluster_name=cluster, broker_name=name))
    refuse = partial(refused, record, ResponseCode.CONTROLLER_BROKER_ID_INVALID, ext_fields=ext_fields)
    if record is None and broker_id != FIRST_BROKER_ID:
        asked = f"but broker try to apply brokerId: {broker_id}"
        return refuse(f"Broker-set: {name} hasn't been registered in controller, {asked}")
    record = record or BrokerSet(cluster=cluster, name=name)
    holder = record.replica(broker_id)
    if holder is not None and holder.check_code == code:
        return Outcome(record, Answer(ext_fields=ext_fields))
    if holder is not None or broker_id < FIRST_BROKER_ID or len(record.replicas) >= MAX_REPLICAS:
        return refuse(f"Fail to apply brokerId: {broker_id} in broker-set: {name}")
    replica = ReplicaRecord(broker_id=broker_id, address=code.partition(";")[0], check_code=code)
    return Outcome(_with_next_id(record.with_replica(replica), broker_id), Answer(ext_fields=ext_fields))


def _with_next_id(record: BrokerSet, taken: int) -> BrokerSet:
    return replace(record, next_broker_id=max(record.next_broker_id, taken) + 1)


# -- registration -------------------------------------------------------------------------------------------------


def register(
    record: BrokerSet | None,
    living: Living,
    *,
    request: RegisterBrokerToControllerRequestHeader,
    own: ReplicaFields,
) -> Outcome:
    """A broker that has its id comes up: note its addresses, and tell it who reigns, if that one lives."""
    cluster, name, broker_id = request.cluster_name, request.broker_name, request.broker_id
    ext_fields = to_ext_fields(RegisterBrokerToControllerResponseHeader(cluster_name=cluster, broker_name=name))
    refuse = partial(refused, record, ResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED, ext_fields=ext_fields)
    if record is None:
        return refuse(f"Broker-set: {name} hasn't been registered in controller")
    replica = record.replica(broker_id)
    fault = holder_fault(record, broker_id, request.broker_address)
    if fault is not None and (replica is None or broker_id in living):
        return refused(record, *fault, ext_fields=ext_fields)
    assert replica is not None
    if own.unclean_boot:
        record = _distrusted(record, replica.broker_id)
        living = {each: standing for each, standing in living.items() if each != broker_id}
    record = _at_addresses(record, replica, request.broker_address or replica.address, own.broker_ha_address)
    if record.master == broker_id:
        record = record.with_master(broker_id)
    if record.master in living:
        ext_fields |= reign(record)
    return Outcome(record, Answer(ext_fields=ext_fields, body=set_body(record)))


def holder_fault(record: BrokerSet, broker_id: int | None, address: str | None) -> tuple[int, str] | None:
    """Why the broker at `address` is not the one that has this id."""
    replica = record.replica(broker_id)
    if replica is None:
        remark = f"BrokerId: {broker_id} hasn't been registered in broker-set: {record.name}"
        return ResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED, remark
    if address and address != replica.address:
        advice = f"remove brokerIdentity from the store of {address} if it was copied"
        remark = f"BrokerId: {broker_id} in broker-set: {record.name} is in use at {replica.address}; {advice}"
        return ResponseCode.CONTROLLER_BROKER_ID_INVALID, remark
    return None


def distrust(record: BrokerSet | None, living: Living, *, broker_id: int) -> Outcome:
    """A replica was heard of that has less than it had: as if it had said so when it registered."""
    has_lost = broker_id in living and living[broker_id].lost
    return Outcome(_distrusted(record, broker_id) if record is not None and has_lost else record, Answer())


def _distrusted(record: BrokerSet, broker_id: int) -> BrokerSet:
    """Without a replica whose tail may be gone; alone in the set it stays, for nobody has more.

    The set's epoch is raised even when the replica was not in it: the master may be asking to let it in, for what it
    acknowledged before, and that request must be refused.
    """
    if record.in_sync - {broker_id}:
        record = record.with_in_sync(record.in_sync - {broker_id})
        if record.master == broker_id:
            record = record.with_master(None)
    return record


def _at_addresses(record: BrokerSet, replica: ReplicaRecord, address: str, ha_address: str | None) -> BrokerSet:
    moved = ReplicaRecord(
        broker_id=replica.broker_id,
        address=address,
        check_code=replica.check_code,
        ha_address=ha_address or replica.ha_address,
    )
    return record if moved == replica else record.with_replica(moved)


# -- the set ------------------------------------------------------------------------------------------------------


def alter(
    record: BrokerSet | None, living: Living, *, request: AlterSyncStateSetRequestHeader, wanted: SyncStateSet
) -> Outcome:
    """The master asks for another set, and says which one it knew."""
    fault = _alter_fault(record, living, request, wanted)
    if fault is not None or record is None:
        code, remark = fault or (ResponseCode.SYSTEM_ERROR, "")
        return refused(record, code, remark, ext_fields=to_ext_fields(AlterSyncStateSetResponseHeader()))
    changed = record.with_in_sync(wanted.sync_state_set)
    header = AlterSyncStateSetResponseHeader(new_sync_state_set_epoch=changed.in_sync_epoch)
    return Outcome(changed, Answer(ext_fields=to_ext_fields(header), body=set_body(changed)))


def _alter_fault(
    record: BrokerSet | None, living: Living, request: AlterSyncStateSetRequestHeader, wanted: SyncStateSet
) -> tuple[int, str] | None:
    """The first thing that is wrong, in RocketMQ's order."""
    failed = ResponseCode.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED
    if record is None:
        return failed, "Broker metadata is not existed"
    if wanted.sync_state_set == record.in_sync:
        return failed, "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet"
    rejecting = "Rejecting alter syncStateSet request because the"
    if record.master is None or record.master != request.master_broker_id:
        leaders = f"current leader is:{{{_text(record.master)}}}, not {{{_text(request.master_broker_id)}}}"
        return ResponseCode.CONTROLLER_INVALID_MASTER, f"{rejecting} {leaders}"
    if record.master_epoch != request.master_epoch:
        epochs = f"current master epoch is:{{{record.master_epoch}}}, not {{{_text(request.master_epoch)}}}"
        return ResponseCode.CONTROLLER_FENCED_MASTER_EPOCH, f"{rejecting} {epochs}"
    if record.in_sync_epoch != wanted.sync_state_set_epoch:
        epochs = f"current syncStateSet epoch is:{{{record.in_sync_epoch}}}, not {{{wanted.sync_state_set_epoch}}}"
        return ResponseCode.CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH, f"{rejecting} {epochs}"
    for each in sorted(wanted.sync_state_set):
        if each not in record.ids:
            return ResponseCode.CONTROLLER_INVALID_REPLICAS, f"{rejecting} replicas {{{each}}} don't exist"
        if each not in living:
            return ResponseCode.CONTROLLER_BROKER_NOT_ALIVE, f"{rejecting} replicas {{{each}}} don't alive"
    if record.master not in wanted.sync_state_set:
        return failed, f"{rejecting} newSyncStateSet don't contains origin leader {{{record.master}}}"
    return None


def _text(value: int | None) -> str:
    return "null" if value is None else str(value)


# -- cleaning -----------------------------------------------------------------------------------------------------


def clean(record: BrokerSet | None, living: Living, *, request: CleanControllerBrokerDataRequestHeader) -> Outcome:
    """Forget replicas that will not come back, or a whole set.

    RocketMQ forgets the whole set when ids are named together with isCleanLivingBroker; here ids mean those ids.
    """
    name, text = request.broker_name, (request.broker_controller_ids_to_clean or "").strip()
    refuse = partial(refused, record, ResponseCode.CONTROLLER_INVALID_CLEAN_BROKER_METADATA, ext_fields=None)
    if not request.is_clean_living_broker and not text and record is not None and record.master is not None:
        return refuse(f"Broker {name} is still alive, clean up failure")
    try:
        ids = frozenset(int(each) for each in text.rstrip(";").split(";") if text)
    except ValueError:
        return refuse("Please set the option <brokerControllerIdsToClean> according to the format")
    for each in sorted(ids if not request.is_clean_living_broker else ()):
        if each in living:
            return refuse(f"Broker [{name},  {each}] is still alive, clean up failure")
    if record is None:
        return refuse(f"Broker {name} is not existed,clean broker data failure.")
    return Outcome(_without(record, ids) if ids else None, Answer())


def _without(record: BrokerSet, ids: frozenset[int]) -> BrokerSet | None:
    """None when nobody is left who has what was promised."""
    left = replace(record, replicas=tuple(each for each in record.replicas if each.broker_id not in ids))
    if not left.replicas or (record.in_sync and record.in_sync <= ids):
        return None
    if not ids.isdisjoint(record.in_sync):
        left = left.with_in_sync(record.in_sync - ids)
    return left.with_master(None) if record.master in ids else left
