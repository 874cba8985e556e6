from __future__ import annotations

import dataclasses
import logging

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, fields

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.settings import is_runtime
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.config import settings_of, shown
from sprocketmq.logs import LogfmtFormatter
from sprocketmq.properties_file import parse_properties


async def entries(caller: Caller) -> dict[str, str]:
    return parse_properties((await caller(RequestCode.GET_BROKER_CONFIG)).body.decode())


async def test_the_configuration_is_shown_whole(caller: Caller) -> None:
    found = await entries(caller)
    assert found["brokerName"] == "broker-a"
    assert found["fileReservedTime"] == "72"
    assert found["flushDiskType"] == "ASYNC_FLUSH"
    version = fields(await caller(RequestCode.GET_BROKER_CONFIG))["version"]
    assert version == '{"counter":0,"stateVersion":0,"timestamp":0}'


async def test_changes_take_effect_are_logged_and_outlive_a_restart(
    caller: Caller, broker: Broker, start_broker: StartBroker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "sprocketmq"):
        answer = await caller(
            RequestCode.UPDATE_BROKER_CONFIG, b"fileReservedTime=48\ntraceOn=false\nmaxMessageSize=1000\n"
        )
    assert answer.code == 0
    assert (await entries(caller))["fileReservedTime"] == "48"
    assert broker.store.cleaner.config.file_reserved_time == 48
    assert (await caller.send("T", bytes(2000))).code == ResponseCode.MESSAGE_ILLEGAL
    assert '"counter":1' in fields(await caller(RequestCode.GET_BROKER_CONFIG))["version"]
    logged = [record.__dict__["fields"] for record in caplog.records if record.message == "configuration changed"]
    assert [each["key"] for each in logged] == ["fileReservedTime", "traceOn", "maxMessageSize"]
    assert str(logged[0]["peer"]).startswith("127.0.0.1:")
    await broker.stop()
    again = await start_broker()
    assert again.store.cleaner.config.file_reserved_time == 48
    assert not again.settings.current.trace_on


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"storePathRootDir=/tmp/evil", ResponseCode.NO_PERMISSION),
        (b"namesrvAddr=192.0.2.1:9876", ResponseCode.NO_PERMISSION),
        (b"brokerIP1=192.0.2.1", ResponseCode.NO_PERMISSION),
        (b"logFile=/tmp/evil", ResponseCode.NO_PERMISSION),
        (b"adminAllowFrom=*", ResponseCode.NO_PERMISSION),
        (b"traceOn=false\nstorePathCommitLog=/tmp/evil", ResponseCode.NO_PERMISSION),
        (b"traceOn=false\nfileReservedTime=-5", ResponseCode.INVALID_PARAMETER),
        (b"traceOn=false\nfilterServerNums=3", ResponseCode.INVALID_PARAMETER),
        (b"traceOn=perhaps", ResponseCode.INVALID_PARAMETER),
        (b"deleteWhen=25", ResponseCode.INVALID_PARAMETER),
        (b"", ResponseCode.INVALID_PARAMETER),
        (b"\xff\xfe", ResponseCode.INVALID_PARAMETER),
        (b"traceOn=\\u12", ResponseCode.INVALID_PARAMETER),
        (b"storePathCommitLog=../../etc", ResponseCode.NO_PERMISSION),
        (b"listenPort=80", ResponseCode.NO_PERMISSION),
        (b"bindAddress=0.0.0.0", ResponseCode.NO_PERMISSION),
        (b"brokerName=broker-b", ResponseCode.NO_PERMISSION),
        (b"brokerConfigPath=/etc/passwd", ResponseCode.INVALID_PARAMETER),
        (b"rocketmqHome=/tmp", ResponseCode.NO_PERMISSION),
        (b"traceOn=false\r\nstorePathRootDir=/tmp/evil\r\n", ResponseCode.NO_PERMISSION),
        (b"traceOn=false\\r\\nnamesrvAddr\\=192.0.2.1", ResponseCode.INVALID_PARAMETER),
        (b"fileReservedTime=48\\nadminAllowFrom\\=*", ResponseCode.INVALID_PARAMETER),
        (b"fileReservedTime=/etc/passwd", ResponseCode.INVALID_PARAMETER),
        (b"fileReservedTime=0x30", ResponseCode.INVALID_PARAMETER),
        (b"fileReservedTime=4.5", ResponseCode.INVALID_PARAMETER),
        (b"fileReservedTime=99999999999999999999999", ResponseCode.INVALID_PARAMETER),
        (b"fileReservedTime=4_8", ResponseCode.INVALID_PARAMETER),
        (b"fileReservedTime=", ResponseCode.INVALID_PARAMETER),
        (b"deleteWhen=04;rm -rf /", ResponseCode.INVALID_PARAMETER),
        (b"messageDelayLevel=1s", ResponseCode.NO_PERMISSION),
        (b"__class__=x", ResponseCode.INVALID_PARAMETER),
        (b"=x", ResponseCode.INVALID_PARAMETER),
    ],
)
async def test_a_change_that_is_refused_changes_nothing(caller: Caller, broker: Broker, body: bytes, code: int) -> None:
    await caller(RequestCode.UPDATE_BROKER_CONFIG, b"longPollingEnable=true")
    path = broker.store.layout.config / "broker.properties"
    kept, before = path.read_bytes(), (await caller(RequestCode.GET_BROKER_CONFIG)).body
    current, store = broker.settings.current, broker.settings.store
    answer = await caller(RequestCode.UPDATE_BROKER_CONFIG, body)
    assert answer.code == code
    assert answer.remark
    assert (await caller(RequestCode.GET_BROKER_CONFIG)).body == before
    assert path.read_bytes() == kept
    assert broker.settings.current is current
    assert broker.settings.store is store


async def test_a_refusal_is_logged_with_its_peer_on_one_line(caller: Caller, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sprocketmq"):
        await caller(RequestCode.UPDATE_BROKER_CONFIG, b"evil\\r\\nlevel\\=info=/tmp/evil")
    (record,) = [each for each in caplog.records if each.message == "configuration change refused"]
    assert str(record.__dict__["fields"]["peer"]).startswith("127.0.0.1:")
    assert len(LogfmtFormatter().format(record).splitlines()) == 1


@pytest.mark.parametrize(
    ("key", "text", "seen"),
    [("aclSecretKey", "s3", "***"), ("tlsPassword", "", ""), ("brokerName", "b", "b"), ("authToken", "t", "***")],
)
def test_secrets_are_not_shown(key: str, text: str, seen: str) -> None:
    assert shown(key, text) == seen


def test_no_key_that_can_be_changed_is_a_free_text(broker: Broker) -> None:
    """A number, a switch or one of a few names cannot be a path, a command or an address."""
    free = {
        key
        for key in broker.settings.entries()
        if is_runtime(key) and isinstance(_value(broker, key), str) and key != "deleteWhen"  # a list of hours
    }
    assert free == set()


def _value(broker: Broker, key: str) -> object:
    rows = settings_of(BrokerConfig)
    if key in rows:
        return getattr(broker.settings.current, rows[key].attribute)
    store = broker.settings.store
    attribute = next(each.name for each in dataclasses.fields(store) if each.metadata["key"] == key)
    return getattr(store, attribute)
