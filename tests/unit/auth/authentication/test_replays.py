from __future__ import annotations

import pytest

from sprocketmq.auth.account_realm import AccountRealm
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication import replays
from sprocketmq.auth.authentication.replays import SKEW_MS, WINDOW, Replays
from sprocketmq.auth.authentication.users import UserType
from sprocketmq.auth.guard import Guard
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import CODE, NONCE, TIMESTAMP, RequestStamps, signed_content, with_signature

from ..test_guard import answer, checked, connection

NOW = 1_700_000_000_000


@pytest.fixture
def guard() -> Guard:
    accounts = AccountStore()
    accounts.create_user("strict", "pw", UserType.SUPER, strict=True)
    accounts.create_user("plain", "pw", UserType.SUPER)
    return Guard(AccountRealm(accounts), "c", check_replay=Replays(lambda: NOW).check)


def request(fields: dict[str, str] | None = None, code: int = 105, key: str = "strict") -> Command:
    signed = with_signature({"topic": "T", **(fields or {})}, b"", access_key=key, secret_key="pw")
    return Command(code, ext_fields=signed)


def stamped(count: int, *, ts: int = NOW, code: int = 105, stream: str = "s") -> dict[str, str]:
    return {TIMESTAMP: str(ts), NONCE: f"{stream}-{count}", CODE: str(code)}


def test_a_strict_user_must_sign_time_number_and_code(guard: Guard) -> None:
    assert "must sign" in (answer(guard, request()) or "")
    assert answer(guard, request(key="plain")) is None
    for missing in (TIMESTAMP, NONCE, CODE):
        fields = {key: value for key, value in stamped(1).items() if key != missing}
        assert "must sign" in (answer(guard, request(fields)) or "")
    assert answer(guard, request(stamped(1))) is None


def test_what_was_here_is_not_taken_again(guard: Guard) -> None:
    at = connection()
    assert answer(guard, request(stamped(5)), at) is None
    assert answer(guard, request(stamped(5)), at) == "the request has been here before"
    assert answer(guard, request(stamped(5)), connection()) == "the request has been here before"
    assert answer(guard, request(stamped(5, stream="t"))) is None


def test_requests_may_overtake_each_other(guard: Guard) -> None:
    for count in (WINDOW + 9, 12, 11, 10, WINDOW + 8):
        assert answer(guard, request(stamped(count))) is None, count
    for count in (WINDOW + 9, 12, 9, 0):
        assert answer(guard, request(stamped(count))) == "the request has been here before"
    assert answer(guard, request(stamped(9 * WINDOW))) is None
    assert answer(guard, request(stamped(9 * WINDOW - 1))) is None
    assert answer(guard, request(stamped(9 * WINDOW - 1))) is not None


def test_a_route_is_no_deletion(guard: Guard) -> None:
    signed = request(stamped(1)).ext_fields
    assert answer(guard, Command(215, ext_fields=signed)) == "the request was signed as another one"


@pytest.mark.parametrize(
    ("code", "moved"),
    [
        (105, {"_d": "str", NONCE: "eam-7"}),
        (105, {"_m": "stre", NONCE: "am-7"}),
        (105, {NONCE: "stream-", "_q": "7"}),
        (105, {"SecurityToken": "1", CODE: "05"}),
        (5, {"_a": "10", CODE: "5"}),
        (5, {"_UNIQUE_KEY_QUERY": "10", CODE: "5"}),
        (10, {CODE: "10", NONCE: "5stream-7"}),
        (10, {CODE: "10", "_d": "5"}),
    ],
)
def test_the_same_text_in_other_fields(guard: Guard, code: int, moved: dict[str, str]) -> None:
    """No signature tells where one value ends and the next begins."""
    signed = request(stamped(7, stream="stream")).ext_fields or {}
    again = Command(code, ext_fields={**signed, **moved})
    assert signed_content(again.ext_fields or {}, b"") == signed_content(signed, b""), "it is rightly signed"
    assert answer(guard, again) is not None
    assert answer(guard, Command(105, ext_fields=signed)) is None


def test_a_zero_that_goes_to_the_time(guard: Guard) -> None:
    signed = request(stamped(10)).ext_fields or {}
    moved = {**signed, NONCE: "s-1", TIMESTAMP: f"0{NOW}"}
    assert answer(guard, Command(105, ext_fields=moved)) is not None


@pytest.mark.parametrize("ts", [NOW - SKEW_MS - 1, NOW + SKEW_MS + 1])
def test_what_is_too_old_or_too_new_is_refused(guard: Guard, ts: int) -> None:
    assert "five minutes" in (answer(guard, request(stamped(1, ts=ts))) or "")


@pytest.mark.parametrize("nonce", ["", "7", "-7", "s-", "s-x", "s-\u0667", "s-" + "9" * 19, "x" * 65 + "-1"])
def test_a_number_that_is_none(guard: Guard, nonce: str) -> None:
    assert "must sign" in (answer(guard, request({**stamped(1), NONCE: nonce})) or "")


def test_a_user_with_too_many_senders_stops_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MAX_STREAMS", 3)
    accounts, now = AccountStore(), [NOW]
    for name in ("many", "other"):
        accounts.create_user(name, "pw", UserType.SUPER, strict=True)
    guard = Guard(AccountRealm(accounts), "c", check_replay=Replays(lambda: now[0]).check)

    def ask(stream: str, count: int = 0, key: str = "many") -> str:
        try:
            checked(guard, connection(), request(stamped(count, ts=now[0], stream=stream), key=key))
        except RequestRefused as refused:
            return refused.remark
        return "done"

    full = "[OVERLOAD]3 senders of this user are known"
    assert [ask(stream) for stream in "abcd"] == ["done", "done", "done", full]
    assert ask("a", 1) == ask("d", key="other") == "done"
    now[0] += 2 * SKEW_MS - 1
    assert ask("a", 2) == "done"
    now[0] += 1  # b and c are forgotten, a is not
    assert [ask(stream) for stream in "def"] == ["done", "done", full]
    assert ask("a", 2) == "the request has been here before"


def test_stamps_are_used_once() -> None:
    stamps = RequestStamps()
    first, second = stamps.stamped({"a": "1"}, 10), stamps.stamped({"a": "1"}, 10)
    assert first[NONCE] != second[NONCE]
    assert first[NONCE][0].isalpha()
    assert (first[CODE], first["a"]) == ("10", "1")
