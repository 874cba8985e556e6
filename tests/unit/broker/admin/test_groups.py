from __future__ import annotations

import pytest
from tests.unit.broker.support import Caller

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import GroupForbidden, SubscriptionGroupConfig, SubscriptionGroupList
from sprocketmq.protocol.command import Command
from sprocketmq.store.files.config_files import SubscriptionGroups

from ..conftest import StartBroker


async def put(caller: Caller, group: SubscriptionGroupConfig) -> Command:
    return await caller(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, codec.encode(group))


async def test_a_group_is_put_shown_and_outlives_a_restart(
    caller: Caller, broker: Broker, start_broker: StartBroker
) -> None:
    wanted = SubscriptionGroupConfig(group_name="G", retry_max_times=3, attributes={"+priority.factor": "5"})
    assert (await put(caller, wanted)).code == 0
    shown = await caller(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, group="G")
    assert codec.decode(SubscriptionGroupConfig, shown.body).retry_max_times == 3
    assert b'"attributes":{"priority.factor":"5"}' in shown.body
    await broker.stop()
    assert (await start_broker()).groups.configs["G"].retry_max_times == 3


async def test_all_groups(caller: Caller) -> None:
    await put(caller, SubscriptionGroupConfig(group_name="G"))
    answer = await caller(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    assert b'"forbiddenTable":{}' in answer.body
    assert {"G", "TOOLS_CONSUMER"} <= codec.decode(SubscriptionGroups, answer.body).subscription_group_table.keys()


async def test_looking_does_not_create(caller: Caller, broker: Broker) -> None:
    answer = await caller(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, group="unknown")
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert "unknown" not in broker.groups.configs


@pytest.mark.parametrize(
    "group",
    [
        SubscriptionGroupConfig(),
        SubscriptionGroupConfig(group_name="a b"),
        SubscriptionGroupConfig(group_name="G", retry_queue_nums=-1),
        SubscriptionGroupConfig(group_name="G", attributes={"+colour": "red"}),
    ],
)
async def test_groups_that_may_not_be(caller: Caller, broker: Broker, group: SubscriptionGroupConfig) -> None:
    before = dict(broker.groups.configs)
    assert (await put(caller, group)).code == ResponseCode.INVALID_PARAMETER
    body = codec.encode(SubscriptionGroupList(group_config_list=(SubscriptionGroupConfig(group_name="ok"), group)))
    answer = await caller(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert broker.groups.configs == before


async def test_a_list_of_groups(caller: Caller, broker: Broker) -> None:
    groups = tuple(SubscriptionGroupConfig(group_name=name) for name in ("A", "B"))
    body = codec.encode(SubscriptionGroupList(group_config_list=groups))
    assert (await caller(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body)).code == 0
    assert {"A", "B"} <= set(broker.groups.configs)


@pytest.mark.parametrize(("clean", "left"), [(True, {"T@other": {0: 2}}), (False, {"T@G": {0: 1}, "T@other": {0: 2}})])
async def test_deleting_a_group(caller: Caller, broker: Broker, clean: bool, left: dict[str, dict[int, int]]) -> None:
    await put(caller, SubscriptionGroupConfig(group_name="G"))
    broker.offsets.commit("G", "T", 0, 1)
    broker.offsets.commit("other", "T", 0, 2)
    assert (await caller(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="G", cleanOffset=clean)).code == 0
    assert "G" not in broker.groups.configs
    assert broker.offsets.table == left


async def test_groups_of_the_system_stay(caller: Caller, broker: Broker) -> None:
    answer = await caller(RequestCode.DELETE_SUBSCRIPTIONGROUP, groupName="TOOLS_CONSUMER", cleanOffset=True)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert "TOOLS_CONSUMER" in broker.groups.configs


async def test_a_group_that_may_not_read_a_topic(caller: Caller, broker: Broker, start_broker: StartBroker) -> None:
    await caller.send("T")
    where = {"group": "G", "topic": "T"}
    for readable, code in ((False, ResponseCode.NO_PERMISSION), (True, ResponseCode.SUCCESS)):
        answer = await caller.call(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, where | {"readable": readable})
        assert codec.decode(GroupForbidden, answer.body) == GroupForbidden(**where, readable=readable)
        assert (await caller.pull("T")).code == code
    assert broker.groups.forbidden == {}
    answer = await caller.call(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, where)
    assert b'"readable":true' in answer.body
