from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.protocol.allocation import (
    Allocation,
    Averagely,
    AveragelyByCircle,
    ByConfig,
    ConsistentHash,
    MachineRoom,
    MachineRoomNearby,
)
from sprocketmq.protocol.message_queue import MessageQueue

GOLDEN: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "golden" / "rebalance.json").read_text()
)


def strategy(case: dict[str, Any]) -> Allocation:
    if case["strategy"] == "CONSISTENT_HASH":
        return ConsistentHash(case["virtualNodes"])
    return Averagely() if case["strategy"] == "AVG" else AveragelyByCircle()


def queues(count: int, broker: str = "b") -> list[MessageQueue]:
    return [MessageQueue("T", broker, i) for i in range(count)]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['strategy']}-{len(case['consumerIds'])}")
def test_same_as_java(case: dict[str, Any]) -> None:
    allocate = strategy(case)
    offered = [MessageQueue(*queue) for queue in case["queues"]]
    for client, expected in case["allocated"].items():
        assert [
            [q.topic, q.broker_name, q.queue_id] for q in allocate(client, offered, case["consumerIds"])
        ] == expected
    assert allocate.name == case["strategy"]


@pytest.mark.parametrize("allocate", [Averagely(), AveragelyByCircle(), ConsistentHash()], ids=lambda a: a.name)
@pytest.mark.parametrize("members", [1, 2, 3, 7, 20])
def test_every_queue_has_exactly_one_owner(allocate: Allocation, members: int) -> None:
    clients = sorted(f"10.0.0.{i}@{i}" for i in range(members))
    given = [queue for client in clients for queue in allocate(client, queues(8), clients)]
    assert sorted(given) == queues(8)


@pytest.mark.parametrize(
    "allocate",
    [Averagely(), AveragelyByCircle(), ConsistentHash(), MachineRoom(["b"])],
    ids=lambda a: a.name,
)
def test_a_stranger_owns_nothing(allocate: Allocation) -> None:
    assert allocate("stranger", queues(4), ["a", "b"]) == []


def test_consistent_hash_moves_few_queues() -> None:
    allocate, before = ConsistentHash(), ["a", "b", "c"]
    kept = [queue for client in before for queue in allocate(client, queues(30), before)]
    assert sorted(kept) == queues(30)
    for client in before:
        after = allocate(client, queues(30), [*before, "d"])
        assert set(after) <= set(allocate(client, queues(30), before)), "a new member only takes, it shuffles nothing"


def test_machine_room_takes_its_own_brokers_and_deals_the_rest_at_the_end() -> None:
    allocate = MachineRoom(["room1"])
    offered = queues(5, "room1@a") + queues(3, "room2@a")
    assert [q.queue_id for q in allocate("c0", offered, ["c0", "c1"])] == [0, 1, 4]
    assert [q.queue_id for q in allocate("c1", offered, ["c0", "c1"])] == [2, 3]


def test_nearby_keeps_rooms_apart_and_shares_an_empty_room() -> None:
    allocate = MachineRoomNearby(Averagely(), lambda broker: broker[0], lambda client: client[0])
    offered = queues(2, "a1") + queues(2, "b1") + queues(2, "z1")
    clients = ["a-client", "b-client"]
    assert allocate("a-client", offered, clients) == [*queues(2, "a1"), MessageQueue("T", "z1", 0)]
    assert allocate("b-client", offered, clients) == [*queues(2, "b1"), MessageQueue("T", "z1", 1)]
    assert allocate.name == "MACHINE_ROOM_NEARBY-AVG"


def test_config_is_what_it_says() -> None:
    assert ByConfig(queues(2))("anyone", queues(8), ["x"]) == queues(2)
