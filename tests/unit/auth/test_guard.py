"""Whole requests through the guard: RocketMQ's decisions, and what is kept of them."""

from __future__ import annotations

from typing import Any

import pytest

from sprocketmq.auth.account_realm import AccountRealm
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import User, UserStatus, UserType
from sprocketmq.auth.authorization.policies import PolicyType, Verdict
from sprocketmq.auth.authorization.requirements import Need
from sprocketmq.auth.guard import Guard, check_stored
from sprocketmq.codes import RequestCode, ResponseCode, SerializeType
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting.peer import Peer, peer_of
from sprocketmq.remoting.traffic import Traffic

from .golden import GOLDEN, SEED_NAME, accounts, entry

BOTH = accounts(GOLDEN["users"], GOLDEN["acls"])
TOPIC = f"ord{SEED_NAME}-0"
#: What RocketMQ opens to every user, or asks another question about, and what is asked here; see `test_requirements`.
STRICTER = {
    "the same without a topic": "",
    "view without a topic": "",
    "read the configuration": "Get C",
    "change the configuration": "Update C",
    "create group": "Create G of the body",
    "reply": "Pub T",
    "lite pull": "Sub T, Sub G",
    "create user": "Super",
    "get user": "Super",
    "route": "any user",
    "route of a retry topic": "any user",
    "route of the default topic": "any user",
    "view": "the stored record",
    "end of a transaction": "the stored record",
}


class FakeConnection(Traffic):
    """Without a loop and a transport: a guard wants to know who it is."""

    def __init__(self, peer: Peer, certificate_name: str | None = None) -> None:
        self.peer = peer
        self.session: Any = None
        self.certificate_name = certificate_name
        self.attributes: dict[str, Any] = {}


def connection(address: str = "10.0.0.9") -> FakeConnection:
    return FakeConnection(peer_of((address, 4000)))


def answer(guard: Guard, request: Command, at: FakeConnection | None = None) -> str | None:
    """None when it may go on, else the remark."""
    try:
        assert checked(guard, at or connection(), request)
    except RequestRefused as error:
        refused = error
    else:
        return None
    assert refused.code == ResponseCode.NO_PERMISSION
    return refused.remark


def checked(guard: Guard, at: FakeConnection, request: Command) -> bool:
    """With all its steps, where it takes some."""
    may = guard.check(at, request)
    while not isinstance(may, bool):
        try:
            next(may)
        except StopIteration as end:
            may = end.value
    return may


def received(command: Command) -> Command:
    (there,) = FrameDecoder().feed(encode_frame(command))
    return there


def request_of(row: dict[str, Any]) -> Command:
    return received(Command(row["code"], ext_fields=row["fields"], body=(row["body"] or "").encode()))


@pytest.mark.parametrize(
    "row", [row for row in GOLDEN["requestDecisions"] if row["config"] == "both"], ids=lambda row: row["note"]
)
def test_decisions_on_whole_requests(row: dict[str, Any]) -> None:
    remark = answer(Guard(AccountRealm(BOTH), "DefaultCluster"), request_of(row), connection(row["remote"]))
    if row["note"] in STRICTER:
        # Whoever is not known, or signs wrong, gets the same answer; the rest is the table's.
        known = row["allowed"] or "no permission" in row["remark"]
        assert known or remark == row["remark"]
        return
    assert remark == row["remark"]


@pytest.mark.parametrize("serialize_type", list(SerializeType))
@pytest.mark.parametrize("note", sorted(STRICTER))
def test_what_rocketmq_leaves_open_needs_a_policy(note: str, serialize_type: int) -> None:
    """`nothing-` is a user without any policy; RocketMQ lets it do all of these but the last few."""
    (row,) = [
        each
        for each in GOLDEN["requestDecisions"]
        if each["note"] == note and (each["fields"] or {}).get("AccessKey") == f"nothing-{SEED_NAME}"
    ]
    request = request_of(row)
    request = received(
        Command(request.code, ext_fields=request.ext_fields, body=request.body, serialize_type=serialize_type)
    )
    at = connection()
    remark = answer(Guard(AccountRealm(BOTH), "DefaultCluster"), request, at)
    if STRICTER[note] in ("", "the stored record"):
        assert remark is None  # and then the handler asks, for the topic that it finds
        with pytest.raises(RequestRefused, match=f"no permission to access Topic:{TOPIC}"):
            check_stored(at, request, TOPIC)
    elif STRICTER[note] == "any user":
        assert remark is None
    else:
        assert "no permission" in (remark or "") or remark == "parse authorization context error."


CONFIGS: dict[str, dict[str, Any]] = {
    "authentication only": {"asks_policies": False},
    "authenticationWhitelist=105, 310; authorizationWhitelist=105": {},
    "stateful": {},
}


@pytest.mark.parametrize(
    "row", [row for row in GOLDEN["requestDecisions"] if row["config"] in CONFIGS], ids=lambda row: row["note"]
)
def test_decisions_of_other_configurations(row: dict[str, Any]) -> None:
    white = "Whitelist" in row["config"]
    guard = Guard(
        AccountRealm(BOTH, **CONFIGS[row["config"]]),
        "DefaultCluster",
        no_signature={105, 310} if white else (),
        no_decision={105} if white else (),
    )
    assert answer(guard, request_of(row), connection(row["remote"])) == row["remark"]


def test_a_right_signature_does_not_open_the_connection_for_wrong_ones() -> None:
    """RocketMQ's stateful strategy remembers the user for a minute, whatever is signed behind it."""
    right, wrong = [row for row in GOLDEN["requestDecisions"] if row["config"] == "stateful, one connection"]
    guard, at = Guard(AccountRealm(BOTH), "DefaultCluster"), connection()
    assert answer(guard, request_of(right), at) is None
    assert wrong["allowed"]
    assert answer(guard, request_of(wrong), at) == "check signature failed."
    assert at.session is None


# -- what is kept, and forgotten --------------------------------------------------------------------------------------


def send(topic: str, key: str = "app", secret: str = "pw", **more: str) -> Command:
    fields = with_signature({"a": "p", "b": topic, **more}, b"body", access_key=key, secret_key=secret)
    return received(Command(310, ext_fields=fields, body=b"body", serialize_type=SerializeType.ROCKETMQ))


def kept() -> tuple[AccountStore, Guard]:
    made = AccountStore()
    made.create_user("app", "pw")
    made.create_user("root", "pw", UserType.SUPER)
    made.put_acl("app", {PolicyType.CUSTOM: [_allow("Topic:orders", "Pub")]})
    guard = Guard(AccountRealm(made), "c")
    made.on_change.append(guard.forget)
    return made, guard


def _allow(resource: str, action: str) -> Any:
    return entry({"resource": resource, "actions": [action], "sourceIps": None, "decision": "Allow"})


def test_a_decision_is_asked_once_for_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made, guard = kept()
    asked = []
    verdict = AccountRealm.verdict

    def counted(realm: AccountRealm, user: User, need: Need, address: str) -> Verdict:
        asked.append(need)
        return verdict(realm, user, need, address)

    monkeypatch.setattr(AccountRealm, "verdict", counted)
    at = connection()
    for _ in range(5):
        assert answer(guard, send("orders"), at) is None
    assert len(asked) == 1
    assert "no permission" in (answer(guard, send("bills"), at) or "")
    made.put_acl("app", {PolicyType.CUSTOM: [_allow("Topic:bills", "Pub")]})
    assert answer(guard, send("bills"), at) is None


def test_what_is_taken_away_is_gone_at_once() -> None:
    made, guard = kept()
    at = connection()
    assert answer(guard, send("orders"), at) is None
    made.delete_acl("app")
    assert "no permission" in (answer(guard, send("orders"), at) or "")
    made.update_user("app", status=UserStatus.DISABLE)
    assert answer(guard, send("orders"), at) == "User:app is disabled."
    made.delete_user("app")
    assert answer(guard, send("orders"), at) == "User:app is not found."


def test_two_users_on_one_connection_are_two() -> None:
    _, guard = kept()
    at = connection()
    for _ in range(2):
        assert answer(guard, send("bills", "root"), at) is None
        assert "no permission" in (answer(guard, send("bills"), at) or "")


def test_a_super_user_is_not_asked_and_nobody_else_makes_users() -> None:
    made, guard = kept()
    made.put_acl("app", {PolicyType.CUSTOM: [_allow("*", "All")]})
    for code in range(3001, 3006):
        for key, may in (("root", True), ("app", False)):
            fields = with_signature({"username": "x"}, b"", access_key=key, secret_key="pw")
            assert (answer(guard, received(Command(code, ext_fields=fields))) is None) is may


def test_an_unknown_code_is_for_users_alone() -> None:
    _, guard = kept()
    assert answer(guard, Command(9999)) == "username cannot be null."
    fields = with_signature({}, b"", access_key="app", secret_key="pw")
    assert answer(guard, Command(9999, ext_fields=fields)) is None


def test_a_broken_body_is_refused() -> None:
    _, guard = kept()
    fields = with_signature({}, b"{", access_key="app", secret_key="pw")
    request = Command(RequestCode.HEART_BEAT, ext_fields=fields, body=b"{")
    assert answer(guard, request) == "parse authorization context error."


def test_registrations_are_for_the_inner_user() -> None:
    made, _ = kept()
    guard = Guard(AccountRealm(made, inner_key="app"), "c")
    for key, may in (("app", True), ("root", True)):
        fields = with_signature({"clusterName": "c"}, b"", access_key=key, secret_key="pw")
        assert (answer(guard, Command(RequestCode.REGISTER_BROKER, ext_fields=fields)) is None) is may
    made.create_user("other", "pw")
    made.put_acl("other", {PolicyType.CUSTOM: [_allow("*", "All")]})
    fields = with_signature({"clusterName": "c"}, b"", access_key="other", secret_key="pw")
    assert "inner user" in (answer(guard, Command(RequestCode.REGISTER_BROKER, ext_fields=fields)) or "")


def test_this_machine_without_an_account() -> None:
    made, _ = kept()
    guard = Guard(AccountRealm(made, trusts_local=True), "c")
    assert answer(guard, Command(RequestCode.AUTH_CREATE_USER), connection("127.0.0.1")) is None
    assert answer(guard, Command(RequestCode.AUTH_CREATE_USER), connection("10.0.0.9")) == "username cannot be null."


def test_a_certificate_as_a_user() -> None:
    made, guard = kept()
    at = connection()
    at.certificate_name = "root"
    assert answer(guard, Command(RequestCode.AUTH_LIST_USER), at) == "username cannot be null."
    guard = Guard(AccountRealm(made, trusts_certificates=True), "c")
    assert answer(guard, Command(RequestCode.AUTH_LIST_USER), at) is None
    assert at.session.name == "root"  # as the audit tells it
    at.certificate_name, at.session = "app", None
    assert "User:app has no permission" in str(answer(guard, Command(RequestCode.AUTH_LIST_USER), at))
    at.certificate_name, at.session = "nobody", None
    assert answer(guard, Command(RequestCode.AUTH_LIST_USER), at) == "User:nobody is not found."
    assert answer(guard, send("orders"), at) is None  # a key that is given counts


def test_a_refusal_that_is_held_back() -> None:
    made, _ = kept()
    held = []

    def hold_back(_connection: Any, _request: Command, refused: RequestRefused) -> bool:
        held.append(refused.remark)
        return True

    guard = Guard(AccountRealm(made), "c", hold_back=hold_back)
    assert guard.check(connection(), send("orders", secret="wrong")) is False
    assert held == ["check signature failed."]
