"""What a rule gives: the record to remember and the answer to send, and the parts that answers have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sprocketmq.codes import ResponseCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.controller import BrokerReplicasInfo, ReplicaIdentity, ReplicasInfo, SyncStateSet
from sprocketmq.protocol.controller_fields import MasterFields
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.controller import ElectMasterResponseHeader, GetReplicaInfoResponseHeader


@dataclass(frozen=True, slots=True)
class ReplicaStanding:
    """What a living replica last said of itself. `priority`: the lower one is preferred.

    `lost`: it had more of its log once, and that was confirmed: its disk was replaced, or set back to an older copy.
    """

    epoch: int = -1
    max_offset: int = -1
    priority: int = 0x7FFFFFFF
    lost: bool = False


Living = Mapping[int, ReplicaStanding]


@dataclass(frozen=True, slots=True)
class Answer:
    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`record` is what to remember from now on: the same object when nothing changed, None for nothing at all."""

    record: BrokerSet | None
    answer: Answer
    elected: bool = False


#: What is to be done with one set, whatever it has become by the time.
Rule = Callable[[BrokerSet | None, Living], Outcome]


def replica_info(record: BrokerSet | None, lease_millis: int | None = None) -> Answer:
    if record is None:
        return Answer(
            ResponseCode.CONTROLLER_BROKER_METADATA_NOT_EXIST, "Broker metadata is not existed", ext_fields={}
        )
    header = GetReplicaInfoResponseHeader(
        master_broker_id=record.master, master_address=record.master_address, master_epoch=record.master_epoch
    )
    own = MasterFields(master_ha_address=record.master_ha_address, lease_millis=lease_millis)
    return Answer(ext_fields=to_ext_fields(header) | to_ext_fields(own), body=set_body(record))


def reign(record: BrokerSet) -> dict[str, str]:
    """The fields that tell who reigns since when."""
    header = ElectMasterResponseHeader(
        master_broker_id=record.master,
        master_address=record.master_address,
        master_epoch=record.master_epoch,
        sync_state_set_epoch=record.in_sync_epoch,
    )
    return to_ext_fields(header) | to_ext_fields(MasterFields(master_ha_address=record.master_ha_address))


def set_body(record: BrokerSet) -> bytes:
    return codec.encode(SyncStateSet(sync_state_set=record.in_sync, sync_state_set_epoch=record.in_sync_epoch))


def refused(record: BrokerSet | None, code: int, remark: str, *, ext_fields: dict[str, str] | None) -> Outcome:
    return Outcome(record, Answer(code, remark, ext_fields))


def replicas_info(record: BrokerSet, living: Living) -> ReplicasInfo:
    """One set as administrators see it."""

    def identities(chosen: Iterable[int]) -> tuple[ReplicaIdentity, ...]:
        ids = frozenset(chosen)
        return tuple(
            ReplicaIdentity(
                broker_name=record.name,
                broker_id=each.broker_id,
                broker_address=each.address,
                alive=each.broker_id in living,
            )
            for each in record.replicas
            if each.broker_id in ids
        )

    return ReplicasInfo(
        master_broker_id=record.master,
        master_address=record.master_address,
        master_epoch=record.master_epoch,
        sync_state_set_epoch=record.in_sync_epoch,
        in_sync_replicas=identities(record.in_sync),
        not_in_sync_replicas=identities(record.ids - record.in_sync),
    )


def sync_state_data(sets: Iterable[tuple[BrokerSet, Living]]) -> Answer:
    table = {record.name: replicas_info(record, living) for record, living in sets}
    return Answer(body=codec.encode(BrokerReplicasInfo(replicas_info_table=table)))
