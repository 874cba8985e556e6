from __future__ import annotations

import json

import pytest
from tests.unit.broker.pull.test_cold_data import started
from tests.unit.broker.support import START_MS, Caller

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode

from .conftest import StartBroker

UPDATE, REMOVE = RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG
INFO, READ_MODE = RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, RequestCode.SET_COMMITLOG_READ_MODE


async def test_thresholds_are_set_shown_and_removed(caller: Caller) -> None:
    assert (await caller(UPDATE, b"G=100\nbad=x\nH=7\n")).code == 0
    assert (await caller(REMOVE, b"H")).code == 0
    assert (await caller(REMOVE)).code == 0
    assert (await caller(INFO)).body == (
        b'{"runtimeTable":{},"configTable":{"G":100},"cgColdReadThreshold":3145728,'
        b'"globalColdReadThreshold":104857600,"globalAcc":0}'
    )


async def test_readers_are_shown(start_broker: StartBroker) -> None:
    broker, caller = await started(start_broker, cgColdReadThreshold="1000000")
    await caller.pull(count=1)
    shown = json.loads((await caller(INFO)).body)
    size = broker.cold.read
    assert size > 0
    assert (shown["globalAcc"], shown["runtimeTable"]) == (
        size, {"G": {"coldAcc": size, "createTimeMills": START_MS, "lastColdReadTimeMills": START_MS}}
    )  # fmt: skip
    await caller.client.close(grace=0.1)


async def test_a_threshold_of_its_own_holds_a_group_back(start_broker: StartBroker) -> None:
    _, caller = await started(start_broker, cgColdReadThreshold="1000000")
    await caller(UPDATE, b"G=1")
    await caller.pull(count=1)
    assert (await caller.pull(offset=1)).code == ResponseCode.SYSTEM_BUSY
    await caller.client.close(grace=0.1)


async def test_the_log_is_read_ahead_or_not(caller: Caller, broker: Broker) -> None:
    await caller.send()
    answer = await caller(READ_MODE, READ_AHEAD_MODE=1)
    assert (answer.code, answer.remark) == (0, "set commitlog readahead mode success, mode: 1")
    assert not broker.store.config.data_read_ahead_enable
    assert (await caller(READ_MODE, READ_AHEAD_MODE=0)).code == 0
    assert broker.store.config.data_read_ahead_enable


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, ResponseCode.SYSTEM_ERROR),
        ({"READ_AHEAD_MODE": "x"}, ResponseCode.SYSTEM_ERROR),
        ({"READ_AHEAD_MODE": 7}, ResponseCode.INVALID_PARAMETER),
    ],
)
async def test_other_modes_are_refused(caller: Caller, fields: dict[str, object], code: int) -> None:
    assert (await caller.call(READ_MODE, fields)).code == code
