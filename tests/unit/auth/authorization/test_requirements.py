"""What requests need, against what RocketMQ's own context builder says, with its gaps closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sprocketmq.auth.authorization.request_table import REQUESTS, Level, Row
from sprocketmq.auth.authorization.requirements import BODIES, Need, needs_of, stored_need
from sprocketmq.auth.authorization.resources import Action, ResourceType
from sprocketmq.codes import RequestCode
from sprocketmq.errors import BodyError

from ..golden import GOLDEN, SEED_NAME

#: RocketMQ 5.3.3 asks no policy at all for these: every user may. The body says what they are about, or they show and
#: change the whole broker.
OPEN_IN_ROCKETMQ = {
    18, 21, 25, 26, 28, 43, 45, 46, 60, 61, 200, 201, 225, 306, 316, 318, 319, 324, 325, 329, 361, 400, 401, 402, 513,
    907, 1005, 1006, 1007, 1009, 1010, 2001, 2002, 2003, 2004, 200056, 200151,
}  # fmt: skip
#: The other way round: a route is for every user, for a client asks for it before it knows what it may.
OPEN_HERE = {105}
#: Who reads a queue may also ask where it begins and ends.
ALSO_SUB = {29, 30, 31, 32}


def asked(row: dict[str, Any]) -> set[tuple[str, frozenset[str]]]:
    return {(need["resource"], frozenset(need["actions"])) for need in row["needs"]}


def all_needs(row: Row, fields: Mapping[str, str], body: bytes, cluster: str) -> list[Need]:
    return [need for need in needs_of(row, fields, body, cluster) if need is not None]


def needed(needs: list[Need]) -> set[tuple[str, frozenset[str]]]:
    return {(str(need), frozenset(action.word for action in need.actions)) for need in needs}


@pytest.mark.parametrize("row", GOLDEN["contexts"], ids=lambda row: f"{row['code']}-{row['note']}")
def test_needs_are_rocketmq_s_or_more(row: dict[str, Any]) -> None:
    code = row["code"]
    if row["note"] == "a code nobody knows":
        assert code not in REQUESTS
        return
    mine = REQUESTS[code]
    if row["note"] in ("no fields", "no topic", "required field missing"):  # RocketMQ: no needs, and an error later
        assert "" in {need.name for need in all_needs(mine, row["fields"] or {}, b"", "c")}
        return
    if row["note"] in ("heartbeat without a body", "heartbeat that is no JSON"):
        with pytest.raises(BodyError):
            all_needs(mine, row["fields"], (row["body"] or "").encode(), "c")
        return
    if mine.level in (Level.NOBODY, Level.SUPER, Level.BROKER) or code in OPEN_HERE:
        return  # no policy opens these; `test_request_table` has who may
    if mine.stored:
        assert not mine.named or asked(row) >= needed(all_needs(mine, row["fields"], b"", "DefaultCluster"))
        return
    if row["note"] == "retry topic of one group, field of another":
        assert needed(all_needs(mine, row["fields"], b"", "")) == {(f"Group:group-{SEED_NAME}", frozenset({"Sub"}))}
        return
    if code in OPEN_IN_ROCKETMQ:
        assert asked(row) == set()
        assert code in BODIES or all_needs(mine, row["fields"], b"", "DefaultCluster")
        return
    body = (row["body"] or "").encode()
    needs = needed(all_needs(mine, row["fields"], body, "DefaultCluster"))
    if code in ALSO_SUB:
        needs = {(resource, actions - {"Sub"}) for resource, actions in needs}
    assert needs == asked(row)


def test_what_is_open_in_rocketmq_and_here() -> None:
    """Of the codes that RocketMQ opens to every user, these are left: lists of names, and what has no handler."""
    open_there = {row["code"] for row in GOLDEN["contexts"] if row["note"] == "every code" and not row["needs"]}
    left = {code for code in open_there - OPEN_IN_ROCKETMQ if REQUESTS[code].level is not Level.NOBODY}
    assert left == {106, 206, 224, 304, 305, 311, 312, 313}
    assert {REQUESTS[code].level for code in left} == {Level.USER}


@pytest.mark.parametrize(
    ("code", "body", "needs"),
    [
        (18, b'{"topicConfigList":[{"topicName":"a"},{"topicName":"b"}]}', {"Topic:a", "Topic:b"}),
        (46, b'{"group":"g","subscriptionData":{"topic":"t"}}', {"Group:g", "Topic:t"}),
        (200, b'{"groupName":"g"}', {"Group:g"}),
        (225, b'{"groupConfigList":[{"groupName":"g"},{"groupName":"h"}]}', {"Group:g", "Group:h"}),
        (400, b'{"topic":"t","consumerGroup":"g"}', {"Group:g", "Topic:t"}),
        (401, b'{"topic":"t","consumerGroup":"g"}', {"Group:g"}),
        (
            200151,
            b'{"acks":[{"c":"g","t":"t"},{"c":"h","t":"%RETRY%i"}]}',
            {"Group:g", "Group:h", "Group:i", "Topic:t"},
        ),
    ],
)
def test_bodies_tell_what_is_needed(code: int, body: bytes, needs: set[str]) -> None:
    assert {str(need) for need in all_needs(REQUESTS[code], {}, body, "c")} == needs


def test_a_missing_name_is_no_open_door() -> None:
    (need,) = all_needs(REQUESTS[RequestCode.SEND_MESSAGE_V2], {}, b"", "c")
    assert need == Need(ResourceType.TOPIC, "", (Action.PUB,))


@pytest.mark.parametrize("code", [RequestCode.ACK_MESSAGE, RequestCode.CHANGE_MESSAGE_INVISIBLETIME])
@pytest.mark.parametrize(
    ("topic", "group", "needs"),
    [
        ("%RETRY%g_t", "g", {"Group:g", "Topic:t"}),
        ("%RETRY%g+t", "g", {"Group:g", "Topic:t"}),
        ("%RETRY%g_t_u", "g", {"Group:g", "Topic:t_u"}),
        ("%RETRY%g_t", "h", {"Group:h", "Group:g_t"}),
        ("%RETRY%g", "g", {"Group:g"}),
        ("%RETRY%g_", "g", {"Group:g", "Topic:"}),
        ("%RETRY%g+t", "h", {"Group:h", "Group:g"}),
        ("%RETRY%_t", "", {"Group:", "Group:_t"}),
    ],
)
def test_what_a_pop_tries_again_is_acknowledged_by_its_group(
    code: RequestCode, topic: str, group: str, needs: set[str]
) -> None:
    """The topic is named after both; whoever may pop the one for the other reads it already."""
    found = all_needs(REQUESTS[code], {"topic": topic, "consumerGroup": group}, b"", "c")
    assert {str(need) for need in found} == needs


_HEARTBEAT = (
    b'{"consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"t"}]},'
    b'{"groupName":"h","subscriptionDataSet":[{"topic":"u"}]}]}'
)
_LOCK = b'{"consumerGroup":"g","mqSet":[{"topic":"t","brokerName":"b","queueId":0}]}'


@pytest.mark.parametrize(
    ("code", "body", "order"),
    [
        (RequestCode.HEART_BEAT, _HEARTBEAT, ["Group:g", "Topic:t", "Group:h", "Topic:u"]),
        (RequestCode.LOCK_BATCH_MQ, _LOCK, ["Group:g", "Topic:t"]),
        (RequestCode.UNLOCK_BATCH_MQ, _LOCK, ["Group:g", "Topic:t"]),
        (RequestCode.PULL_MESSAGE, b"", ["Topic:t", "Group:g"]),
        (RequestCode.POP_MESSAGE, b"", ["Group:g", "Topic:t"]),
        (RequestCode.PEEK_MESSAGE, b"", ["Topic:t", "Group:g"]),
        (RequestCode.ACK_MESSAGE, b"", ["Group:g", "Topic:t"]),
        (RequestCode.CHANGE_MESSAGE_INVISIBLETIME, b"", ["Group:g", "Topic:t"]),
        (RequestCode.NOTIFICATION, b"", ["Group:g", "Topic:t"]),
        (RequestCode.POLLING_INFO, b"", ["Group:g", "Topic:t"]),
    ],
)
def test_a_refusal_names_what_rocketmq_asks_first(code: RequestCode, body: bytes, order: list[str]) -> None:
    needs = all_needs(REQUESTS[code], {"topic": "t", "consumerGroup": "g"}, body, "c")
    assert [str(need) for need in needs] == order


def test_the_stored_record_s_topic() -> None:
    view, end = REQUESTS[RequestCode.VIEW_MESSAGE_BY_ID], REQUESTS[RequestCode.END_TRANSACTION]
    assert str(stored_need(view, "orders")) == "Topic:orders"
    assert str(stored_need(view, "%RETRY%g")) == "Group:g"
    assert str(stored_need(view, "%RETRY%g+t")) == "Group:g"
    assert stored_need(end, "orders").actions == (Action.PUB,)
