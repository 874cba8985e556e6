from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.static_topic.conftest import Two
from tests.unit.broker.static_topic.support import A, B, detail, item, put
from tests.unit.broker.support import Caller

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.mapping import (
    TopicConfigAndMappingSerializeWrapper,
    TopicConfigAndQueueMapping,
    TopicQueueMappingDetail,
)

LED = detail(A, {0: (item(0, A, 0),)})


async def shown(caller: Caller, *, lo: bool) -> TopicQueueMappingDetail | None:
    answer = await caller(RequestCode.GET_TOPIC_CONFIG, topic="S", lo=lo)
    return codec.decode(TopicConfigAndQueueMapping, answer.body).mapping_detail


async def test_a_mapping_is_shown_to_those_who_ask_for_it_and_outlives_a_restart(
    caller: Caller, broker: Broker, start_broker: StartBroker
) -> None:
    assert (await put(caller, LED)).code == 0
    assert await shown(caller, lo=True) == LED
    assert await shown(caller, lo=False) is None
    everything = (await caller(RequestCode.GET_ALL_TOPIC_CONFIG)).body
    assert codec.decode(TopicConfigAndMappingSerializeWrapper, everything).topic_queue_mapping_detail_map == {"S": LED}
    await broker.stop()
    assert (await start_broker()).mappings.details == {"S": LED}


async def test_a_deleted_topic_takes_its_mapping_along(caller: Caller, broker: Broker) -> None:
    await put(caller, LED)
    assert (await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="S")).code == 0
    assert not broker.mappings.details
    assert "S" not in (broker.store.layout.config / "topicQueueMapping.json").read_text()


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        (replace(LED, bname=B), "for broker broker-b"),
        (replace(LED, epoch=4), "epoch 4 is behind"),
        (replace(LED, scope="elsewhere", epoch=6), "scope elsewhere"),
        (replace(LED, epoch=5, hosted_queues={}), "it is missing"),
        (detail(A, {0: (item(0, A, -1), item(1, A, 5))}, 6), "no logical offset"),
        (detail(A, {0: (item(0, A, 9),)}, 6), "generation 0 has changed"),
    ],
)
async def test_a_mapping_that_contradicts_what_is_known_is_refused(
    caller: Caller, mapping: TopicQueueMappingDetail, says: str
) -> None:
    known = replace(LED, epoch=5)
    assert (await put(caller, known)).code == 0
    answer = await put(caller, mapping)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert says in (answer.remark or "")
    assert await shown(caller, lo=True) == known


async def test_force_takes_what_is_older_and_keeps_queues_that_it_does_not_name(caller: Caller) -> None:
    await put(caller, detail(A, {0: (item(0, A, 0),), 1: (item(0, A, 0, queue_id=1),)}, 5))
    forced = detail(A, {0: (item(1, A, 50),)}, 2)
    assert (await put(caller, forced, force=True)).code == 0
    assert await shown(caller, lo=True) == replace(
        forced, hosted_queues={**forced.hosted_queues, 1: (item(0, A, 0, queue_id=1),)}
    )


async def test_a_mapping_of_another_topic_is_refused(caller: Caller) -> None:
    answer = await put(caller, LED, topic="T")
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert "is of S, not of T" in (answer.remark or "")


async def test_nameservers_hear_which_queues_a_broker_leads(two: Two) -> None:
    items = (item(0, A, 0), item(1, B, 500, queue_id=1))
    await put(two.a, detail(A, {0: items}))
    await put(two.b, detail(B, {0: items}))
    told = two.nameserver.routes.topics.mappings("S")
    assert {name: dict(info.curr_id_map) for name, info in told.items()} == {A: {}, B: {0: 1}}
    assert told[B].total_queues == 1
