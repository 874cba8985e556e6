"""What a user with a few rights of its own tries at a broker with accounts, by raw frames."""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import pytest_asyncio
from tests.unit.broker.static_topic.test_accounts import give
from tests.unit.broker.support import FakeClock, make_broker
from tests.unit.remoting.wire import BarePeer

from sprocketmq.auth.authorization import resources
from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision
from sprocketmq.broker.broker import Broker
from sprocketmq.broker.handlers.lookup import RAW_VIEW
from sprocketmq.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode, ResponseCode, SerializeType
from sprocketmq.protocol import names
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.protocol.record.ids import offset_message_id
from sprocketmq.protocol.record.record import Record, encode_record
from sprocketmq.protocol.signing import with_signature

ROOT, APP = ("root", "root-secret"), ("app", "app-secret")
#: The body of a record begins so far behind the record.
BODY_AT = 88
REFUSED = int(ResponseCode.NO_PERMISSION)


@asynccontextmanager
async def guarding(folder: Path, **more: Any) -> AsyncIterator[Broker]:
    """`app` may use the topic `my` and the group `myg`."""
    broker = make_broker(
        folder / "store", FakeClock(), authenticationEnabled="true", authorizationEnabled="true",
        initAuthenticationUser='{"username":"root","password":"root-secret"}', **more,
    )  # fmt: skip
    await broker.start()
    give(broker, "app", "Topic:my", "Group:myg")
    yield broker
    await broker.stop()


@pytest_asyncio.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Broker]:
    async with guarding(tmp_path) as broker:
        yield broker


def signed(code: int, fields: dict[str, str], body: bytes = b"", keys: tuple[str, str] = APP, **more: Any) -> Command:
    ext = with_signature(fields, body, access_key=keys[0], secret_key=keys[1])
    return Command(code, ext_fields=ext, body=body, **more)


def send(name: str, keys: tuple[str, str] = APP, **more: str) -> Command:
    return send_body(name, keys, b"x", **more)


def send_body(name: str, keys: tuple[str, str], body: bytes, /, **more: str) -> Command:
    fields = {"a": "P", "b": name, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "0", "h": "0", "i": "", **more}
    return signed(RequestCode.SEND_MESSAGE_V2, fields, body, keys)


async def told(broker: Broker, *frames: Command | bytes) -> int | None:
    """The code of the first answer; None when the connection is dropped instead."""
    peer = await BarePeer.connect(broker.port)
    try:
        for frame in frames:
            await peer.write_bytes(frame if isinstance(frame, bytes) else encode_frame(frame))
        answer = await peer.read()
        return None if answer is None else answer.code
    finally:
        peer.close()


def by_json(text: str, body: bytes = b"x") -> bytes:
    header = text.encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


async def test_nobody_has_a_message_sent_back_that_it_may_not_read(guarded: Broker) -> None:
    """It would lie in the topic of one's own group a moment later."""
    assert await told(guarded, send("theirs", ROOT)) == 0
    assert await told(guarded, send("my")) == 0
    for topic, code in (("theirs", REFUSED), ("my", 0)):
        entry = guarded.store.reader.entry(topic, 0, 0)
        assert entry is not None
        back = {"offset": str(entry.commit_offset), "group": "myg", "delayLevel": "0", "originTopic": "my"}
        before = guarded.store.log.max_offset
        assert await told(guarded, signed(RequestCode.CONSUMER_SEND_MSG_BACK, back)) == code
        assert (guarded.store.log.max_offset == before) is (code == REFUSED)


async def test_nobody_reads_the_log_by_a_record_of_its_own_making(guarded: Broker) -> None:
    """One that lies in a body, and says that its properties reach over the messages that come next."""
    assert await told(guarded, send("my")) == 0
    inside = guarded.store.log.max_offset + BODY_AT
    forged = bytearray(encode_record(Record(topic="my", body=b"", commit_offset=inside, properties=b"p")))
    forged[:4], forged[-3:] = (len(forged) + 299).to_bytes(4, "big"), (300).to_bytes(2, "big") + b"p"
    assert await told(guarded, send_body("my", APP, bytes(forged))) == 0
    assert await told(guarded, send_body("theirs", ROOT, b"their secret" * 40)) == 0
    assert guarded.store.reader.record_at(inside) is not None, "the forgery is a good one"
    for keys, code in ((APP, ResponseCode.SYSTEM_ERROR), (ROOT, ResponseCode.SUCCESS)):
        look = {"offset": str(inside), RAW_VIEW: "true"}  # as a slave asks, which compares logs
        assert await told(guarded, signed(RequestCode.VIEW_MESSAGE_BY_ID, look, b"", keys)) == code


@pytest.mark.parametrize("policies", [True, False])
async def test_a_code_without_signatures_is_judged_by_the_stored_topic(tmp_path: Path, policies: bool) -> None:
    """`authenticationWhitelist` has a name believed; it shows nobody what he may not see, and nobody the log."""
    white = {"authenticationWhitelist": "33", "authorizationWhitelist": "" if policies else "33"}
    async with guarding(tmp_path, **white) as broker:
        assert await told(broker, send("theirs", ROOT)) == 0
        entry = broker.store.reader.entry("theirs", 0, 0)
        assert entry is not None
        for name, may in (("app", not policies), ("root", True), ("nobody", not policies)):
            look = {"offset": str(entry.commit_offset), "AccessKey": name}
            view = Command(RequestCode.VIEW_MESSAGE_BY_ID, ext_fields=look)
            assert await told(broker, view) == (0 if may else REFUSED)
            with patch.object(broker.store.reader, "message_at", lambda _offset: None):
                raw = Command(RequestCode.VIEW_MESSAGE_BY_ID, ext_fields={**look, RAW_VIEW: "true"})
                assert await told(broker, raw) in (REFUSED, ResponseCode.SYSTEM_ERROR), "the log was looked at"


async def test_a_name_that_was_believed_once_is_not_believed_again(tmp_path: Path) -> None:
    async with guarding(tmp_path, authenticationWhitelist="33") as broker:
        assert await told(broker, send("my", ROOT)) == 0
        view = Command(RequestCode.VIEW_MESSAGE_BY_ID, ext_fields={"offset": "0", "AccessKey": "root"})
        peer = await BarePeer.connect(broker.port)
        for request, code in ((view, 0), (send("theirs", ("root", "wrong")), REFUSED), (send("theirs", ROOT), 0)):
            await peer.write_bytes(encode_frame(request))
            answer = await peer.read()
            assert answer is not None
            assert answer.code == code
        peer.close()


async def test_a_message_that_rests_is_of_the_topic_where_it_goes(guarded: Broker) -> None:
    give(guarded, "wide", "Topic:*", "Group:*")
    for name, keys in (("my", APP), ("theirs", ROOT)):
        assert await told(guarded, send(name, keys, i="DELAY\x013\x02")) == 0
    wide = ("wide", "wide-secret")
    denied = PolicyEntry(resources.topic("theirs"), (Action.ALL,), Decision.DENY)
    guarded.access.accounts.put_acl("wide", {PolicyType.CUSTOM: [denied]})
    pull = {
        "topic": names.SCHEDULE_TOPIC, "consumerGroup": "myg", "queueId": "2", "queueOffset": "0", "maxMsgNums": "32",
        "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*",
    }  # fmt: skip
    assert await told(guarded, signed(RequestCode.PULL_MESSAGE, pull, b"", wide)) == REFUSED
    for number, (keys, code) in enumerate(((wide, 0), (wide, REFUSED), (APP, REFUSED))):
        entry = guarded.store.reader.entry(names.SCHEDULE_TOPIC, 2, min(number, 1))
        assert entry is not None
        look = {"offset": str(entry.commit_offset)}
        assert await told(guarded, signed(RequestCode.VIEW_MESSAGE_BY_ID, look, b"", keys)) == code


async def test_nobody_has_the_transaction_of_another_topic_checked_again(guarded: Broker) -> None:
    update = PolicyEntry(resources.topic("my"), (Action.UPDATE,), Decision.ALLOW)
    guarded.access.accounts.put_acl("app", {PolicyType.CUSTOM: [update]})
    for topic, code in (("theirs", REFUSED), ("my", 0)):
        properties = f"REAL_TOPIC\x01{topic}\x02".encode()
        put = guarded.store.put(names.TRANSACTION_CHECK_MAX_TOPIC, 0, 0, 0, b"half", properties, 0, bytes(8), 0, 0)
        again = {"topic": "my", "msgId": offset_message_id(bytes(8), put.commit_offset)}
        assert await told(guarded, signed(RequestCode.RESUME_CHECK_HALF_MESSAGE, again)) == code
    assert guarded.store.max_offset(names.TRANSACTION_HALF_TOPIC, 0) == 1


@pytest.mark.parametrize("name", ["", " ", "APP", "app ", "\u00fc\U0001f600" * 60, "nobody"])
async def test_keys_that_are_nobody_s(guarded: Broker, name: str) -> None:
    assert await told(guarded, send("my", (name, APP[1]))) == REFUSED


async def test_what_is_not_signed_does_nothing(guarded: Broker) -> None:
    """Nor when nobody waits for an answer, or when it says that it is one."""
    fields = {
        key: value for key, value in (send("my").ext_fields or {}).items() if key not in ("AccessKey", "Signature")
    }
    for flag in (FLAG_ONEWAY, FLAG_RESPONSE, FLAG_ONEWAY | FLAG_RESPONSE):
        bare = Command(RequestCode.SEND_MESSAGE_V2, ext_fields=fields, body=b"x", flag=flag)
        assert await told(guarded, bare, signed(9999, {})) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert guarded.store.max_offset("my", 0) == 0


@pytest.mark.parametrize("code", [17, 25, 215, 222, 513, *range(3001, 3011)])
async def test_a_signature_of_one_s_own_is_good_for_no_administrator_s_code(guarded: Broker, code: int) -> None:
    asked = signed(RequestCode.GET_MIN_OFFSET, {"topic": "my", "queueId": "0", "group": "myg", "username": "app"})
    assert await told(guarded, Command(code, ext_fields=asked.ext_fields)) == REFUSED


async def test_a_topic_that_is_named_twice(guarded: Broker) -> None:
    """What the guard has judged is what the handler reads."""
    ext = json.dumps(send("my").ext_fields)
    head = '{"code":310,"flag":0,"opaque":1,"version":479,"extFields":'
    assert await told(guarded, by_json(f'{head}{ext[:-1]},"b":"theirs"}}}}')) == REFUSED
    assert (
        await told(guarded, by_json(f'{head}{ext},"extFields":{ext.replace(chr(34) + "my", chr(34) + "theirs")}}}'))
        == REFUSED
    )
    assert await told(guarded, by_json(f'{head}{{"b":"theirs",{ext[1:]}}}')) == 0
    twice = signed(310, {**(send("my").ext_fields or {}), "B": "theirs"}, b"x", serialize_type=SerializeType.ROCKETMQ)
    assert await told(guarded, encode_frame(twice).replace(b"\x00\x01B", b"\x00\x01b")) == REFUSED
    assert guarded.store.max_offset("my", 0) == 1
    assert "theirs" not in guarded.topics.configs


@pytest.mark.parametrize("nested", ["[" * 60_000 + "]" * 60_000, '{"a":' * 9000 + "1" + "}" * 9000])
async def test_a_header_that_is_deep_ends_its_connection(guarded: Broker, nested: str) -> None:
    assert await told(guarded, by_json(f'{{"code":310,"flag":0,"opaque":1,"extFields":{nested}}}')) is None
    assert await told(guarded, send("my")) == 0


SYSTEM = (
    "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "%RETRY%other",
    "%DLQ%myg",
    "TBW102",
    "MY",
    "my ",
    "%LMQ%x",
)


@pytest.mark.parametrize("topic", SYSTEM)
async def test_topics_of_others(guarded: Broker, topic: str) -> None:
    assert await told(guarded, send(topic)) == REFUSED
    assert await told(guarded, send(topic, topic="my")) == REFUSED


def says_that_it_produces(group: str, keys: tuple[str, str]) -> Command:
    told = {"clientID": f"{keys[0]}@1", "producerDataSet": [{"groupName": group}], "consumerDataSet": []}
    return signed(RequestCode.HEART_BEAT, {}, json.dumps(told).encode(), keys)


async def asked(peer: BarePeer, request: Command) -> int:
    await peer.write(request)
    answer = await peer.read()
    assert answer is not None
    return answer.code


async def test_nobody_is_asked_about_transactions_that_it_may_not_end(guarded: Broker) -> None:
    """Anybody may say that he is of a producer group, and a check carries the message."""
    clock = guarded.clock
    assert isinstance(clock, FakeClock)
    properties = "TRAN_MSG\x01true\x02PGROUP\x01PG\x02"
    assert await told(guarded, send("theirs", ROOT, f="4", g=str(clock.now), i=properties)) == 0
    assert await told(guarded, send("my", APP, f="4", g=str(clock.now), i=properties)) == 0
    spy, owner = [await BarePeer.connect(guarded.port) for _ in range(2)]
    assert await asked(spy, says_that_it_produces("PG", APP)) == 0
    clock.now += 30_000
    guarded.kinds.checks.alarm.ring()
    check = await spy.read()
    assert check is not None
    assert (check.code, b"theirs" in check.body) == (RequestCode.CHECK_TRANSACTION_STATE, False)
    assert await asked(spy, signed(9999, {})) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    guarded.access.accounts.delete_acl("app")
    assert await asked(spy, says_that_it_produces("PG", APP)) == 0
    assert await asked(owner, says_that_it_produces("PG", ROOT)) == 0
    clock.now += 30_000
    guarded.kinds.checks.alarm.ring()
    checks = [await owner.read(), await owner.read()]
    assert [check.code for check in checks if check is not None] == [RequestCode.CHECK_TRANSACTION_STATE] * 2
    assert await asked(spy, signed(9999, {})) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    spy.close()
    owner.close()


@pytest.mark.parametrize("name", ["KEY", "theirs+KEY"])
async def test_nobody_takes_back_what_is_timed_in_a_topic_of_others(guarded: Broker, name: str) -> None:
    """A recall is a message as well: its sender may name any key in it."""
    clock = guarded.clock
    assert isinstance(clock, FakeClock)
    when = f"TIMER_DELIVER_MS\x01{clock.now + 5000}\x02"
    assert await told(guarded, send("theirs", ROOT, i=f"{when}UNIQ_KEY\x01KEY\x02")) == 0
    assert await told(guarded, send("my", APP, i=f"{when}UNIQ_KEY\x01KEY\x02")) == 0
    assert await told(guarded, send("my", APP, i=f"{when}UNIQ_KEY\x01OTHER\x02TIMER_DEL_UNIQKEY\x01{name}\x02")) == 0
    clock.now += 5000
    guarded.kinds.timer.alarm.ring()
    assert guarded.store.max_offset("theirs", 0) == 1
    assert guarded.store.max_offset("my", 0) == (0 if name == "KEY" else 1)
