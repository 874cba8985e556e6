"""Signatures, fields and bodies that no client sends, every code of a broker with accounts; accounts that change
meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from tests.fault.strangers.test_accounts import APP, REFUSED, ROOT, guarded, send, signed, told  # noqa: F401
from tests.unit.broker.static_topic.test_accounts import give
from tests.unit.broker.support import FakeClock, make_broker
from tests.unit.remoting.wire import BarePeer, until

from sprocketmq.auth.authentication.users import UserStatus
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, SerializeType
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.protocol.signing import CODE, NONCE, SIGNATURE, TIMESTAMP

PATIENCE = 120  # seconds, which only a hang reaches

RIGHT = (send("my").ext_fields or {})[SIGNATURE]
MALFORMED = {
    "none": None,
    "empty": "",
    "one letter": "A",
    "a letter less": RIGHT[:-1],
    "a letter more": RIGHT + "=",
    "twice": RIGHT + RIGHT,
    "no base64": "*" * 28,
    "padding alone": "=" * 28,
    "other letters for two of base64": RIGHT.replace("+", "-").replace("/", "_")[:-1] + "-",
    "a space": " " + RIGHT[1:],
    "other case": RIGHT.swapcase(),
    "28 bytes that are no letters": "\u00fc" * 14,
    "a zero": RIGHT[:-1] + "\0",
    "very long": "A" * 60_000,
}


@pytest.mark.parametrize("serialize_type", list(SerializeType))
@pytest.mark.parametrize("kind", sorted(MALFORMED))
async def test_signatures_that_are_none(guarded: Broker, kind: str, serialize_type: int) -> None:  # noqa: F811
    fields, signature = dict(send("my").ext_fields or {}), MALFORMED[kind]
    fields.pop(SIGNATURE)
    if signature is not None:
        fields[SIGNATURE] = signature
    bad = Command(RequestCode.SEND_MESSAGE_V2, ext_fields=fields, body=b"x", serialize_type=serialize_type)
    assert await told(guarded, bad) == REFUSED
    assert guarded.store.max_offset("my", 0) == 0


@pytest.mark.parametrize("serialize_type", list(SerializeType))
@pytest.mark.parametrize(("count", "codes"), [(200, [0]), (257, [REFUSED, None]), (5000, [REFUSED, None])])
async def test_many_fields(guarded: Broker, count: int, codes: list[int], serialize_type: int) -> None:  # noqa: F811
    """In the worst order for whoever sorts them. Too many end the connection, or are refused."""
    fields = {f"{'z' * 10}{count - number:05}": "v" for number in range(count)} | (send("my").ext_fields or {})
    many = signed(RequestCode.SEND_MESSAGE_V2, fields, b"x", serialize_type=serialize_type)
    assert await told(guarded, many) in codes
    assert guarded.store.max_offset("my", 0) == codes.count(0)


async def test_a_second_signature(guarded: Broker) -> None:  # noqa: F811
    """Of two that differ neither counts; written twice it is one."""
    right = send("my").ext_fields or {}
    for other, code in ((RIGHT[::-1], REFUSED), (right[SIGNATURE], 0)):
        fields = {**right, "Signaturf": other}
        frame = encode_frame(Command(310, ext_fields=fields, body=b"x", serialize_type=SerializeType.ROCKETMQ))
        assert await told(guarded, frame.replace(b"Signaturf", b"Signature")) == code


BODIES = (b"", b"{", b"null", b"[]", b'"x"', b'{"consumerDataSet":7,"mqSet":{},"acks":[null]}', b"\xff" * 40)
FIELDS: tuple[dict[str, str], ...] = ({}, {"topic": "my", "consumerGroup": "myg", "queueId": "x", "offset": "-1"})


@pytest.mark.parametrize("keys", [None, ("app", "wrong"), APP, ROOT], ids=["nobody", "wrong", "app", "root"])
async def test_every_code_with_what_it_cannot_read(
    guarded: Broker,  # noqa: F811
    keys: tuple[str, str] | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An answer to each, and nothing that went wrong inside."""
    caplog.set_level(logging.ERROR)
    peer = await BarePeer.connect(guarded.port)
    for code in sorted({*guarded.table.codes(), 9999}):
        for fields in FIELDS:
            for body in BODIES:
                guarded.access.wrong_keys._since.clear()  # nobody is slowed down here
                asked = Command(code, ext_fields=fields, body=body)
                if keys is not None:
                    asked = signed(code, fields, body, keys)
                await peer.write(asked)
                async with asyncio.timeout(PATIENCE):
                    answer = await peer.read()
                assert answer is not None, (code, fields, body)
                assert "internal error" not in (answer.remark or ""), (code, fields, body, answer.remark)
                assert keys in (APP, ROOT) or answer.code != 0, (code, fields, body)
    peer.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


# -- accounts that change while they are used --------------------------------------------------------------------------


async def test_every_change_counts_from_the_next_request_on(guarded: Broker) -> None:  # noqa: F811
    """On a connection that is never closed, with requests of both kinds in flight around the change."""
    accounts = guarded.access.accounts
    acl = accounts.acl_of("app")
    assert acl is not None
    policies = {type_: policy.entries for type_, policy in acl.policies.items()}
    peer = await BarePeer.connect(guarded.port)

    async def codes(count: int, keys: tuple[str, str] = APP) -> set[int]:
        guarded.access.wrong_keys._since.clear()
        await peer.write(*(send("my", keys) for _ in range(count)))
        async with asyncio.timeout(PATIENCE):
            answers = [await peer.read() for _ in range(count)]
        return {answer.code for answer in answers if answer is not None}

    for round_ in range(5):
        assert await codes(20) == {0}
        accounts.delete_acl("app")
        assert await codes(20) == {REFUSED}
        accounts.put_acl("app", policies)
        assert await codes(20) == {0}
        accounts.update_user("app", status=UserStatus.DISABLE)
        assert await codes(9) == {REFUSED}
        accounts.update_user("app", status=UserStatus.ENABLE)
        accounts.update_user("app", password=f"new-{round_}")
        assert await codes(9) == {REFUSED}
        assert await codes(9, ("app", f"new-{round_}")) == {0}
        accounts.update_user("app", password=APP[1])
    peer.close()


PULL = {
    "consumerGroup": "myg", "topic": "my", "queueId": "0", "queueOffset": "1", "maxMsgNums": "32", "sysFlag": "6",
    "commitOffset": "0", "suspendTimeoutMillis": "60000", "subVersion": "0", "subscription": "*",
}  # fmt: skip
POP = {
    "consumerGroup": "myg", "topic": "my", "queueId": "0", "maxMsgNums": "32", "invisibleTime": "60000",
    "pollTime": "60000", "bornTime": "0", "initMode": "1", "expType": "TAG", "exp": "*",
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "fields"),
    [(RequestCode.PULL_MESSAGE, PULL), (RequestCode.POP_MESSAGE, POP), (RequestCode.NOTIFICATION, POP)],
    ids=["pull", "pop", "notification"],
)
async def test_whoever_waits_is_not_served_when_its_policies_are_gone(
    guarded: Broker,  # noqa: F811
    code: int,
    fields: dict[str, str],
) -> None:
    waiting, other = await BarePeer.connect(guarded.port), await BarePeer.connect(guarded.port)

    async def ask(peer: BarePeer, request: Command) -> Command | None:
        await peer.write(request)
        async with asyncio.timeout(PATIENCE):
            return await peer.read()

    sent = await ask(other, send("my"))
    assert sent is not None
    assert sent.code == 0
    parked = fields | {"bornTime": str(guarded.clock.now_ms())}
    if code != RequestCode.PULL_MESSAGE:  # what is there is taken first
        taken = await ask(waiting, signed(RequestCode.POP_MESSAGE, {**parked, "pollTime": "0"}))
        assert taken is not None
        assert taken.code == 0
    answered = asyncio.ensure_future(ask(waiting, signed(code, parked)))
    await until(lambda: len(guarded.pulls.long_polls) + len(guarded.kinds.pops.polls) > 0)
    guarded.access.accounts.delete_acl("app")
    told = await answered
    assert told is not None
    assert not told.body
    assert (told.ext_fields or {}).get("hasMsg", "false") == "false"
    sent = await ask(other, send("my", ROOT))
    assert sent is not None
    assert sent.code == 0
    again = await ask(waiting, signed(code, parked))
    assert again is not None
    assert again.code == REFUSED
    waiting.close()
    other.close()


async def test_accounts_outlive_a_restart(tmp_path: Path) -> None:
    settings = {
        "authenticationEnabled": "true", "authorizationEnabled": "true",
        "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
    }  # fmt: skip
    for is_first in (True, False):
        broker = make_broker(tmp_path / "store", FakeClock(), None, **settings)
        await broker.start()
        if is_first:
            give(broker, "app", "Topic:my", "Group:myg")
        assert await told(broker, send("my")) == 0
        assert await told(broker, send("theirs")) == REFUSED
        assert await told(broker, send("my", ("app", "wrong"))) == REFUSED
        await broker.stop()


async def test_a_request_of_a_strict_user_is_taken_once(guarded: Broker) -> None:  # noqa: F811
    guarded.access.accounts.update_user("app", strict=True)
    now = str(guarded.access._now_ms())
    stamps = {TIMESTAMP: now, NONCE: "stream-1", CODE: "310"}
    stamped = send("my", APP, **stamps)
    assert await told(guarded, send("my")) == REFUSED
    assert await told(guarded, stamped) == 0
    assert await told(guarded, stamped) == REFUSED
    new = send("my", APP, **{**stamps, NONCE: "stream-2"})
    assert await told(guarded, Command(RequestCode.SEND_MESSAGE, ext_fields=new.ext_fields, body=b"x")) == REFUSED
    assert guarded.store.max_offset("my", 0) == 1


# -- what comes in one read --------------------------------------------------------------------------------------------


def spoiled(request: Command) -> Command:
    """Signed, and then given another body."""
    return Command(request.code, ext_fields=request.ext_fields, body=b"y")


async def test_each_request_of_a_read_is_judged_as_if_it_came_alone(guarded: Broker) -> None:  # noqa: F811
    """They are looked at together first, so what is wrong with one must change nothing for those around it."""
    kinds = [
        (send("my"), 0), (spoiled(send("my")), REFUSED), (send("my"), 0), (send("theirs"), REFUSED), (send("my"), 0),
        (send("theirs", ROOT), 0), (send("my"), 0), (spoiled(send("theirs", ROOT)), REFUSED), (send("theirs"), REFUSED),
        (send("my", ("app", "wrong")), REFUSED), (signed(9999, {}), 3), (send("my", ("nobody", "x")), REFUSED),
    ]  # fmt: skip
    peer = await BarePeer.connect(guarded.port)
    for first in range(len(kinds)):
        guarded.access.wrong_keys._since.clear()
        turned = kinds[first:] + kinds[:first]
        for number, (request, _) in enumerate(turned):
            request.opaque = number
        await peer.write(*(request for request, _ in turned))
        async with asyncio.timeout(PATIENCE):
            answers = [await peer.read() for _ in turned]
        codes = {answer.opaque: answer.code for answer in answers if answer is not None}
        assert [codes[number] for number in range(len(turned))] == [code for _, code in turned], first
    peer.close()


async def test_what_was_cleared_is_asked_about_anew_when_an_account_has_changed(guarded: Broker) -> None:  # noqa: F811
    """A request may wait for its turn while the account behind it goes."""
    guard = guarded.access.guard_of_accounts
    assert guard is not None
    peer = await BarePeer.connect(guarded.port)
    await peer.write(send("my"))
    assert (answer := await peer.read()) is not None
    assert answer.code == 0
    (connection,) = guarded.server.connections
    waiting = [send("my"), spoiled(send("my")), send("my")]
    guard.look_ahead(connection, waiting)
    assert [request.cleared_by is connection.session for request in waiting] == [True, False, False]
    assert guard.check(connection, waiting[0]) is True
    guarded.access.accounts.delete_acl("app")
    guard.look_ahead(connection, waiting)
    for request in waiting:
        with pytest.raises(RequestRefused):
            guard.check(connection, request)
    peer.close()
