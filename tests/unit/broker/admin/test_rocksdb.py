from __future__ import annotations

import json

import pytest
from tests.unit.broker.support import Caller

from sprocketmq.codes import RequestCode, ResponseCode


async def test_a_check_is_announced(caller: Caller) -> None:
    answer = await caller(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, topic="T", checkStoreTime=0)
    assert answer.code == 0
    assert json.loads(answer.body)["checkStatus"] == 2


@pytest.mark.parametrize("kinds", ["topics", "topics;SubscriptionGroups;consumerOffsets;"])
async def test_an_export_is_done_at_once(caller: Caller, kinds: str) -> None:
    answer = await caller(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, configType=kinds)
    assert (answer.code, answer.remark) == (0, "export done.")


@pytest.mark.parametrize("kinds", ["", "topics;nonsense"])
async def test_of_other_configurations_nothing_is_exported(caller: Caller, kinds: str) -> None:
    answer = await caller(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, configType=kinds)
    assert answer.code == ResponseCode.SYSTEM_ERROR
