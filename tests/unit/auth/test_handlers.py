"""3001 to 3010: RocketMQ's administration, operation by operation, and what mqadmin's processors add."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import orjson
import pytest

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import UserType
from sprocketmq.auth.handlers import AccountHandlers
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder
from sprocketmq.remoting import Connection, ProcessorTable
from sprocketmq.remoting.peer import Peer, peer_of

from .golden import GOLDEN

CODES = {
    "createUser": 3001, "updateUser": 3002, "deleteUser": 3003, "getUser": 3004, "listUser": 3005, "createAcl": 3006,
    "updateAcl": 3007, "deleteAcl": 3008, "getAcl": 3009, "listAcl": 3010,
}  # fmt: skip


@dataclass
class Asking:
    peer: Peer
    is_encrypted: bool = False
    session: Any = None
    answer: asyncio.Future[Command] | None = None

    def reply(self, reply: Command, _request: Command) -> None:
        assert self.answer is not None
        self.answer.set_result(reply)


LOCAL = Asking(peer_of(("127.0.0.1", 1)))


async def ask(
    accounts: AccountStore, code: int, fields: dict[str, str | None], body: object = None, at: Asking = LOCAL
) -> Command:
    table = ProcessorTable()
    AccountHandlers(accounts).add_to(table)
    data = b"" if body is None else orjson.dumps(body)
    request = Command(code, ext_fields={key: value for key, value in fields.items() if value is not None}, body=data)
    at.answer = asyncio.get_running_loop().create_future()
    frame = table.handle(cast(Connection, at), request)
    if frame is None:  # a change, which is answered when it is on disk
        return await at.answer
    assert isinstance(frame, bytes)
    (answer,) = FrameDecoder().feed(frame)
    return answer


async def operate(accounts: AccountStore, row: dict[str, Any]) -> Command:
    name, given = row["operation"], row["arguments"]
    if name in ("createUser", "updateUser"):
        body = {key: value for key, value in given.items() if value is not None}
        return await ask(accounts, CODES[name], {"username": given["username"]}, body)
    if name in ("createAcl", "updateAcl"):
        return await ask(accounts, CODES[name], {"subject": given["subject"]}, given)
    return await ask(accounts, CODES[name], given)


def without_nulls(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: without_nulls(value) for key, value in tree.items() if value is not None}
    return [without_nulls(each) for each in tree] if isinstance(tree, list) else tree


async def test_operations_in_rocketmq_s_order() -> None:
    accounts = AccountStore()
    for row in GOLDEN["administration"]:
        answer = await operate(accounts, row)
        name, given, result = row["operation"], row["arguments"], row["result"]
        if row["error"] == "username can not be blank" and name != "deleteUser":  # RocketMQ's processor looks first
            assert (answer.code, answer.remark) == (ResponseCode.INVALID_PARAMETER, "The username is blank"), row
        elif row["error"] and row.get("errorClass") == "NullPointerException":
            assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "The subject is null."), row
        elif row["error"]:
            assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, row["error"]), row
        else:
            assert answer.code == 0, (row, answer.remark)
            if name == "listUser":
                names = [user["username"] for user in orjson.loads(answer.body or b"[]")]
                assert names == result
            elif name == "listAcl":
                assert orjson.loads(answer.body or b"[]") == without_nulls(result)
            elif name in ("createUser", "updateUser", "getUser"):
                shown = (await ask(accounts, 3004, {"username": given["username"]})).body
                assert (orjson.loads(shown) if shown else None) == result
            elif name in ("createAcl", "updateAcl", "deleteAcl", "getAcl"):
                shown = (await ask(accounts, 3009, {"subject": given["subject"]})).body
                assert (orjson.loads(shown) if shown else None) == without_nulls(result)


ENTRY = {"resource": "Topic:t", "actions": ["Pub"], "decision": "Allow"}


def with_entry(subject: str | None, **more: object) -> dict[str, object]:
    return {"subject": subject, "policies": [{"entries": [{**ENTRY, **more}]}]}


@pytest.mark.parametrize(
    ("code", "fields", "body", "answered"),
    [
        (3001, {"username": ""}, {"password": "p"}, (29, "The username is blank")),
        (3001, {"username": " "}, {"password": "p"}, (16, "username can not be blank")),
        (3002, {"username": " "}, {"password": "p"}, (16, "username can not be blank")),
        (3003, {}, None, (16, "username can not be blank")),
        (3003, {"username": " "}, None, (16, "username can not be blank")),
        (3004, {"username": " "}, None, (29, "The username is blank")),
        (3006, {"subject": "User:a"}, {"subject": "User:a", "policies": []}, (1, "The body of acl is null")),
        (3006, {"subject": "User:a"}, with_entry("User:"), (16, "The subject of User: is not exist.")),
        (3007, {"subject": "User:a"}, with_entry("user"), (16, "The subject of User: is not exist.")),
        (3006, {"subject": "User:"}, with_entry(None, actions=["Any"]), (16, "The actions can not be Any.")),
        (3006, {"subject": "Role:a"}, with_entry(None), (1, "The subject is null.")),
        (3006, {"subject": "User:a"}, with_entry(None, sourceIps=["[::1]"]), (16, "The source ip is invalid.")),
        (3006, {"subject": "User:a"}, with_entry(None, sourceIps=["[::1]/64"]), (0, None)),
        (3008, {"subject": "Role:a"}, None, (16, "The subject is null.")),
        (3008, {"subject": "User:"}, None, (16, "The subject is not exist.")),
        (3009, {"subject": "User:"}, None, (16, "The subject is not exist.")),
        (3009, {"subject": "a"}, None, (1, "The subject is null.")),
    ],
)
async def test_what_rocketmq_s_processor_answers(
    code: int, fields: dict[str, str | None], body: object, answered: tuple[int, str | None]
) -> None:
    accounts = AccountStore()
    accounts.create_user("a", "pw")
    answer = await ask(accounts, code, fields, body)
    assert (answer.code, answer.remark or None) == answered


async def test_a_blank_filter_leaves_out_nothing() -> None:
    accounts = AccountStore()
    accounts.create_user("a", "pw")
    await ask(accounts, 3006, {"subject": "User:a"}, with_entry("User:a"))
    assert (await ask(accounts, 3005, {"filter": " "})).body
    everything = (await ask(accounts, 3010, {})).body
    assert everything
    assert (await ask(accounts, 3010, {"subjectFilter": " ", "resourceFilter": " "})).body == everything


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (LOCAL, "pw"),
        (Asking(peer_of(("192.0.2.1", 1))), "***"),
        (Asking(peer_of(("192.0.2.1", 1)), is_encrypted=True), "pw"),
    ],
)
async def test_a_secret_is_shown_where_nobody_listens(at: Asking, shown: str) -> None:
    accounts = AccountStore()
    accounts.create_user("root", "pw", UserType.SUPER)
    assert orjson.loads((await ask(accounts, 3004, {"username": "root"}, at=at)).body)["password"] == shown
    assert orjson.loads((await ask(accounts, 3005, {}, at=at)).body)[0]["password"] == shown


async def test_a_hidden_secret_is_no_secret() -> None:
    """As copyUser sends it on when it did not see it."""
    accounts = AccountStore()
    assert (await ask(accounts, 3001, {"username": "a"}, {"password": "***"})).code == ResponseCode.INVALID_PARAMETER
    accounts.create_user("a", "pw")
    assert (await ask(accounts, 3002, {"username": "a"}, {"password": "***", "userStatus": "disable"})).code == 0
    user = accounts.find("a")
    assert user is not None
    assert (user.password, user.is_enabled) == ("pw", False)


async def test_strict_is_ours() -> None:
    accounts = AccountStore()
    assert (await ask(accounts, 3001, {"username": "a"}, {"password": "pw", "strict": True})).code == 0
    assert orjson.loads((await ask(accounts, 3004, {"username": "a"})).body)["strict"] is True
    assert (await ask(accounts, 3002, {"username": "a"}, {"userType": "Super"})).code == 0
    user = accounts.find("a")
    assert user is not None
    assert user.strict


def test_a_refusal_changes_nothing() -> None:
    accounts = AccountStore()
    with pytest.raises(RequestRefused):
        accounts.create_user("a", " ")
    assert accounts.list_users() == []
