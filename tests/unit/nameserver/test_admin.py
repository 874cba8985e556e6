from __future__ import annotations

import logging
from typing import Any

import pytest
import pytest_asyncio

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.properties_file import parse_properties
from sprocketmq.remoting import Peer

from .conftest import Caller

#: What mqadmin 4.9.8 and 5.3.3, rocketmq-dashboard, brokers and clients send to a nameserver.
CODES = [
    100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327, 901, 904,
]  # fmt: skip


@pytest.mark.parametrize("code", CODES)
async def test_no_code_is_answered_as_unknown(call: Caller, code: int) -> None:
    answer = await call(code)
    assert answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED, answer.remark


async def test_keys_and_values(call: Caller) -> None:
    where: dict[str, Any] = {"namespace": "ns", "key": "k"}
    assert (await call(RequestCode.GET_KV_CONFIG, **where)).code == ResponseCode.QUERY_NOT_FOUND
    assert (await call(RequestCode.GET_KVLIST_BY_NAMESPACE, namespace="ns")).code == ResponseCode.QUERY_NOT_FOUND
    assert (await call(RequestCode.PUT_KV_CONFIG, **where, value="值")).code == 0
    assert (await call(RequestCode.GET_KV_CONFIG, **where)).ext_fields == {"value": "值"}
    assert (await call(RequestCode.GET_KVLIST_BY_NAMESPACE, namespace="ns")).body == '{"table":{"k":"值"}}'.encode()
    assert (await call(RequestCode.DELETE_KV_CONFIG, **where)).code == 0
    assert (await call(RequestCode.GET_KV_CONFIG, **where)).code == ResponseCode.QUERY_NOT_FOUND
    assert (await call(RequestCode.PUT_KV_CONFIG, namespace="ns")).code == ResponseCode.SYSTEM_ERROR


async def test_settings_are_shown_and_changed(call: Caller, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sprocketmq"):
        assert (await call(RequestCode.UPDATE_NAMESRV_CONFIG, b"enableTopicList=false")).code == 0
    shown = parse_properties((await call(RequestCode.GET_NAMESRV_CONFIG)).body.decode())
    assert shown["enableTopicList"] == "false"
    assert shown["serverChannelMaxIdleTimeSeconds"] == "120"
    (record,) = [each for each in caplog.records if each.message == "configuration changed"]
    fields = record.__dict__["fields"]
    assert (fields["key"], fields["value"]) == ("enableTopicList", "false")
    assert str(fields["peer"]).startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"configStorePath=/tmp/evil", ResponseCode.NO_PERMISSION),
        (b"kvConfigPath=/tmp/evil\nenableTopicList=false", ResponseCode.NO_PERMISSION),
        (b"rocketmqHome=/tmp/evil", ResponseCode.NO_PERMISSION),
        (b"enableTopicList=perhaps", ResponseCode.SYSTEM_ERROR),
        (b"", ResponseCode.SYSTEM_ERROR),
        (b"\xff\xfe", ResponseCode.SYSTEM_ERROR),
        (b"key=\\u12", ResponseCode.SYSTEM_ERROR),
    ],
)
async def test_settings_that_are_not_to_be_changed(
    call: Caller, nameserver: Nameserver, body: bytes, code: int
) -> None:
    answer = await call(RequestCode.UPDATE_NAMESRV_CONFIG, body)
    assert answer.code == code
    assert nameserver.settings.current.enable_topic_list


CHANGES = [
    RequestCode.PUT_KV_CONFIG,
    RequestCode.DELETE_KV_CONFIG,
    RequestCode.UPDATE_NAMESRV_CONFIG,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
    RequestCode.DELETE_TOPIC_IN_NAMESRV,
]


@pytest_asyncio.fixture
async def stranger(call: Caller, nameserver: Nameserver) -> Caller:
    """A caller whose connection the server takes for one from another machine."""
    await call(RequestCode.GET_NAMESRV_CONFIG)
    for connection in nameserver._server.connections:
        connection.peer = Peer("192.0.2.9", 5, bytes(8), False)
    return call


@pytest.mark.parametrize("code", CHANGES)
async def test_strangers_change_nothing(stranger: Caller, nameserver: Nameserver, code: int) -> None:
    fields = {"namespace": "n", "key": "k", "value": "v", "brokerName": "b", "topic": "t"}
    answer = await stranger(code, b"enableTopicList=false", 479, **fields)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert "192.0.2.9" in (answer.remark or "")
    assert nameserver.settings.current.enable_topic_list


async def test_strangers_may_read_routes(stranger: Caller) -> None:
    assert (await stranger(RequestCode.GET_NAMESRV_CONFIG)).code == ResponseCode.NO_PERMISSION, "it shows paths"
    assert (await stranger(RequestCode.GET_BROKER_CLUSTER_INFO)).code == 0


async def test_the_audit_tells_what_was_and_what_is(call: Caller, caplog: pytest.LogCaptureFixture) -> None:
    await call.register()
    with caplog.at_level(logging.INFO, "sprocketmq.audit"):
        await call(RequestCode.UPDATE_NAMESRV_CONFIG, b"enableTopicList=false")
        await call(RequestCode.PUT_KV_CONFIG, namespace="n", key="k", value="v")
        await call(RequestCode.DELETE_KV_CONFIG, namespace="n", key="k")
        await call(RequestCode.WIPE_WRITE_PERM_OF_BROKER, brokerName="broker-a")
        await call(RequestCode.ADD_WRITE_PERM_OF_BROKER, brokerName="broker-a")
        await call(RequestCode.DELETE_TOPIC_IN_NAMESRV, topic="orders")
    lines = {each.getMessage(): each.__dict__["fields"] for each in caplog.records if each.name == "sprocketmq.audit"}
    assert {what: (fields.get("old"), fields.get("new")) for what, fields in lines.items()} == {
        "update namesrv config": ("enableTopicList=true", "enableTopicList=false"),
        "put kv config": ("", "v"),
        "delete kv config": ("v", ""),
        "wipe write perm of broker": ("3 of 3 topics", "0 of 3 topics"),
        "add write perm of broker": ("0 of 3 topics", "3 of 3 topics"),
        "delete topic in namesrv": ("broker-a", ""),
    }
