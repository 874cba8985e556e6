"""Who becomes master: the rules of 1002, asked by a broker, by an administrator, or by the controller itself."""

from __future__ import annotations

from sprocketmq.codes import ResponseCode
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.decisions import Answer, Living, Outcome, ReplicaStanding, refused, reign
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.cluster import BrokerMemberGroup
from sprocketmq.protocol.bodies.controller import ElectMasterResponseBody
from sprocketmq.protocol.headers.controller import ElectMasterRequestHeader

#: The id in an election that the controller itself asks for.
CONTROLLER = -1


def by_controller(
    record: BrokerSet | None, living: Living, *, unclean: bool = False, doubted: frozenset[int] = frozenset()
) -> Outcome:
    """The election that the controller asks for, when it misses a master."""
    cluster, name = ("", "") if record is None else (record.cluster, record.name)
    request = ElectMasterRequestHeader(
        cluster_name=cluster, broker_name=name, broker_id=CONTROLLER, designate_elect=False
    )
    return elect(record, living, request=request, unclean=unclean, doubted=doubted)


def elect(
    record: BrokerSet | None,
    living: Living,
    *,
    request: ElectMasterRequestHeader,
    unclean: bool = False,
    doubted: frozenset[int] = frozenset(),
) -> Outcome:
    """Find a master; `unclean` also takes one that lacks promised messages, when nobody else lives. Who is `doubted`
    comes last: once elected, it is the only one that can be.
    """
    unregistered = ResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED
    if record is None:
        return refused(None, unregistered, "Broker hasn't been registered", ext_fields={})
    asker = request.broker_id
    if not record.in_sync and asker != CONTROLLER:  # the first master is whoever asks first
        if asker not in record.ids:  # RocketMQ would crown a stranger
            remark = f"BrokerId: {asker} hasn't been registered in broker-set: {record.name}"
            return refused(record, unregistered, remark, ext_fields={})
        return _crowned(record, asker)
    wanted = asker if request.designate_elect else None
    whole = _whole(record, living)
    able = (whole, record.ids) if unclean else (whole,)
    rounds = (each for ids in able for each in (ids - doubted, ids))
    found = (_choose(ids, record.master, wanted, living) for ids in rounds)
    chosen = next((each for each in found if each is not None), None)
    if chosen is None:
        return _nobody(record, asker)
    return _kept(record, chosen) if chosen == record.master else _crowned(record, chosen)


def _whole(record: BrokerSet, living: Living) -> frozenset[int]:
    """The members that live and have what they confirmed. RocketMQ asks only for the first, and the others then cut
    their logs to that of one which has lost its own. Alone in the set it is taken all the same: nobody has more.
    """
    alive = record.in_sync.intersection(living)
    return frozenset(each for each in alive if not living[each].lost or len(record.in_sync) == 1)


def _choose(candidates: frozenset[int], reigning: int | None, wanted: int | None, living: Living) -> int | None:
    able = sorted(each for each in candidates if each in living)
    if reigning in able and wanted in (None, reigning):
        return reigning
    if wanted is not None:
        return wanted if wanted in able else None
    return min(able, key=lambda each: _rank(living[each]), default=None)


def _rank(standing: ReplicaStanding) -> tuple[int, int, int]:
    """The best is the smallest: the newest epoch, the longest log, the lowest priority; then the lowest id."""
    return -standing.epoch, -standing.max_offset, standing.priority


def _crowned(record: BrokerSet, chosen: int) -> Outcome:
    changed = record.with_master(chosen).with_in_sync({chosen})
    group = BrokerMemberGroup(cluster=changed.cluster, broker_name=changed.name, broker_addrs=changed.addresses)
    body = codec.encode(ElectMasterResponseBody(broker_member_group=group, sync_state_set=changed.in_sync))
    return Outcome(changed, Answer(ext_fields=reign(changed), body=body), elected=True)


def _kept(record: BrokerSet, master: int) -> Outcome:
    remark = f"The old master {master} is still alive, not need to elect new master for broker {record.name}"
    body = codec.encode(ElectMasterResponseBody(sync_state_set=record.in_sync))
    answer = Answer(ResponseCode.CONTROLLER_MASTER_STILL_EXIST, remark, reign(record), body)
    return Outcome(record, answer)


def _nobody(record: BrokerSet, asker: int) -> Outcome:
    """Nobody can reign. When the controller asked, the old master is dethroned; once, not with every further try."""
    if asker != CONTROLLER:
        return refused(
            record, ResponseCode.CONTROLLER_ELECT_MASTER_FAILED, "Failed to elect a new master", ext_fields={}
        )
    remark = "Old master has down and failed to elect a new broker master"
    orphaned = record if record.master is None else record.with_master(None)
    return refused(orphaned, ResponseCode.CONTROLLER_MASTER_NOT_AVAILABLE, remark, ext_fields={})


def needs_master(record: BrokerSet, living: Living, *, unclean: bool = False) -> bool:
    """Nobody reigns who lives and has its log, and somebody could."""
    return record.master not in _whole(record, living) and bool(candidates(record, living, unclean=unclean))


def candidates(record: BrokerSet, living: Living, *, unclean: bool = False) -> list[int]:
    """Who could be elected, the best first."""
    whole = _whole(record, living)
    able = record.ids.intersection(living) if unclean and record.in_sync else whole
    return sorted(able, key=lambda each: (each not in whole, _rank(living[each]), each))
