"""Who may change things, and that every code tools send is answered."""

from __future__ import annotations

import pytest
from tests.unit.auth.authorization.reads import READS
from tests.unit.broker.support import Caller

from sprocketmq.auth.authorization.request_table import CHANGES
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode

from ..conftest import StartBroker
from .conftest import become_a_stranger

#: What mqadmin 4.9.8 and 5.3.3 and rocketmq-dashboard send to a broker.
ADMIN_CODES = [
    17, 18, 21, 25, 26, 28, 29, 30, 31, 32, 33, 43, 45, 50, 51, 52, 53, 200, 201, 202, 203, 204, 207, 208, 215, 222,
    223, 225, 300, 303, 305, 306, 307, 308, 309, 314, 315, 316, 317, 321, 323, 328, 329, 343, 345, 351, 352, 353, 354,
    355, 361, 513, 902, 903, 907, 908, 1007, 2001, 2002, 2003, 2004, *range(3001, 3011), 200056,
]  # fmt: skip
#: What clients and their tools send besides.
CLIENT_CODES = [
    10, 11, 12, 14, 15, 34, 35, 36, 37, 38, 41, 42, 46, 310, 320, 324, 325, 370, 400, 401, *range(200050, 200056),
    200151,
]  # fmt: skip
#: Apache's broker does not know these either: they are for a container of brokers.
CONTAINER_CODES = {RequestCode.ADD_BROKER, RequestCode.REMOVE_BROKER}


_NAMES = """
topic group groupName consumerGroup producerGroup srcGroup destGroup compareGroup filterGroups queueId offset timestamp
isForce defaultTopic readQueueNums writeQueueNums perm topicFilterType topicSysFlag order attributes clientId msgId
statsName statsKey index count isOrder readable masterFlushOffset configType key maxNum beginTimestamp endTimestamp
queueOffset maxMsgNums sysFlag commitOffset suspendTimeoutMillis subscription subVersion cleanOffset offline
jstackEnable
"""


def test_every_code_has_a_processor(broker: Broker) -> None:
    assert {*ADMIN_CODES, *CLIENT_CODES} <= broker.table.codes()


@pytest.mark.parametrize("code", sorted({*ADMIN_CODES, *CLIENT_CODES} - CONTAINER_CODES))
async def test_no_code_is_answered_as_unknown(caller: Caller, code: int) -> None:
    answer = await caller(code)
    assert answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED, answer.remark


@pytest.mark.parametrize("code", sorted(CHANGES & set(ADMIN_CODES)))
async def test_strangers_change_nothing(stranger: Caller, broker: Broker, code: int) -> None:
    topics, groups, settings = dict(broker.topics.configs), dict(broker.groups.configs), broker.settings.entries()
    fields = {
        "topic": "T", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "order": False,
        "topicFilterType": "SINGLE_TAG", "groupName": "G", "group": "G", "readable": False,
    }  # fmt: skip
    answer = await stranger.call(code, fields, b"traceOn=false")
    assert answer.code == ResponseCode.NO_PERMISSION
    assert "192.0.2.9" in (answer.remark or "")
    assert (broker.topics.configs, broker.groups.configs, broker.settings.entries()) == (topics, groups, settings)


@pytest.mark.parametrize("code", sorted(READS))
async def test_strangers_do_not_see_what_is_not_theirs(stranger: Caller, code: int) -> None:
    refused = (ResponseCode.NO_PERMISSION, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)  # what is not there shows nothing
    assert (await stranger(code)).code in refused


@pytest.mark.parametrize("code", [RequestCode.GET_ALL_TOPIC_CONFIG, 28, 317])
async def test_strangers_may_look(stranger: Caller, code: int) -> None:
    assert (await stranger(code, isOrder=False)).code == 0


async def test_listed_networks_may_change_things(start_broker: StartBroker) -> None:
    broker = await start_broker(adminAllowFrom="192.0.2.0/24")
    caller = Caller(broker)
    await become_a_stranger(caller, broker)
    assert (await caller(RequestCode.UPDATE_BROKER_CONFIG, b"traceOn=false")).code == 0
    await caller.client.close(grace=0.2)


@pytest.mark.parametrize("text", [None, "", "x", "-1", "0", "9" * 30, "\u20ac/../\x00"])
async def test_nonsense_is_answered_and_nothing_breaks(caller: Caller, broker: Broker, text: str | None) -> None:
    topics = dict(broker.topics.configs)
    fields = {} if text is None else dict.fromkeys(_NAMES.split(), text)
    for code in ADMIN_CODES:
        answer = await caller.call(code, fields, (text or "").encode())
        assert not (answer.remark or "").startswith("internal error"), (code, answer.remark)
    assert broker.topics.configs == topics
