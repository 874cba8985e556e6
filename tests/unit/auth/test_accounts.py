from __future__ import annotations

import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.auth.account_files import AccountFiles, acl_tree, user_tree
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import UserType
from sprocketmq.auth.authorization.policies import PolicyType
from sprocketmq.auth.authorization.resources import parse_resource
from sprocketmq.errors import RequestRefused, StoreCorrupt
from sprocketmq.protocol import java_json

from .golden import GOLDEN, SEED_NAME, accounts, entry


@pytest.mark.parametrize("row", GOLDEN["stored"], ids=lambda row: row["key"])
def test_values_on_disk_are_rocketmq_s(row: dict[str, Any]) -> None:
    kept = accounts(GOLDEN["users"], GOLDEN["acls"])
    if row["database"] == "config/users":
        user = kept.find(row["key"])
        assert user is not None
        tree = user_tree(user)
    else:
        acl = kept.acl_of(row["key"].removeprefix("User:"))
        assert acl is not None
        tree = acl_tree(acl)
    assert java_json.dumps(tree).decode() == row["value"]


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    first = AccountStore(AccountFiles(tmp_path))
    made = accounts(GOLDEN["users"], GOLDEN["acls"])
    for user in made.list_users():
        first.create_user(user.name, user.password, user.type, user.status, strict=user.name.startswith("ops"))
    for acl in made.list_acls():
        first.put_acl(acl.username, {type_: policy.entries for type_, policy in acl.policies.items()})
    again = AccountStore(AccountFiles(tmp_path))
    again.load()
    assert again.list_users() == first.list_users()
    assert [acl_tree(acl) for acl in again.list_acls()] == [acl_tree(acl) for acl in first.list_acls()]
    assert {user.name for user in again.list_users() if user.strict} == {f"ops-{SEED_NAME}"}
    assert not list(tmp_path.glob("*.tmp"))


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    kept = AccountStore(AccountFiles(tmp_path))
    kept.create_user("root", "secret", UserType.SUPER)
    users = tmp_path / "users.json"
    assert stat.S_IMODE(users.stat().st_mode) == 0o600
    users.chmod(0o644)
    AccountStore(AccountFiles(tmp_path)).load()
    assert stat.S_IMODE(users.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"dataVersion":{"counter":1},"table":{"a":{"username":"a","password":"marked-secret"}}}',
        '{"table":1}',
    ],
)
def test_a_damaged_file_is_named_and_its_secrets_are_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "users.json").write_text(text)
    with pytest.raises(StoreCorrupt, match=r"users\.json") as caught:
        AccountStore(AccountFiles(tmp_path)).load()
    assert "marked-secret" not in str(caught.value)


def test_a_change_that_cannot_be_kept_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = AccountStore(AccountFiles(tmp_path))
    kept.create_user("a", "p")

    def fail(*_arguments: object, **_named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sprocketmq.auth.account_files.replace_file", fail)
    with pytest.raises(OSError, match="No space"):
        kept.create_user("b", "p")
    assert [user.name for user in kept.list_users()] == ["a"]


async def test_a_server_sees_of_a_change_what_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user goes after its policies: where the second file fails, the user is there without them."""
    kept, told = AccountStore(AccountFiles(tmp_path)), []
    kept.on_change.append(lambda: told.append(threading.current_thread()))
    await kept.change(lambda accounts: accounts.create_user("a", "p"))
    await kept.change(lambda accounts: accounts.put_acl("a", {PolicyType.CUSTOM: [entry(_ENTRY)]}))
    assert told == [threading.main_thread()] * 2

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(AccountFiles, "save_users", fail)
    with pytest.raises(OSError, match="No space"):
        await kept.change(lambda accounts: accounts.delete_user("a"))
    again = AccountStore(AccountFiles(tmp_path))
    again.load()
    for each in (kept, again):
        assert [user.name for user in each.list_users()] == ["a"]
        assert each.list_acls() == []
    with pytest.raises(RequestRefused):
        await kept.change(lambda accounts: accounts.create_user("a", "p"))
    assert len(told) == 3


def test_every_change_is_told() -> None:
    kept, told = AccountStore(), []
    kept.on_change.append(lambda: told.append(len(kept.list_users())))
    kept.create_user("a", "p")
    kept.update_user("a", "q")
    kept.put_acl("a", {PolicyType.CUSTOM: [entry(_ENTRY)]})
    kept.delete_acl("a", resource=parse_resource("Topic:t"))
    kept.put_acl("a", {PolicyType.CUSTOM: [entry(_ENTRY)]})
    kept.delete_user("a")
    assert told == [1, 1, 1, 1, 1, 1, 0]
    assert kept.acl_of("a") is None


def test_a_name_has_an_end() -> None:
    with pytest.raises(RequestRefused, match="255"):
        AccountStore().create_user("x" * 256, "p")


_ENTRY = {"resource": "Topic:t", "actions": ["Pub"], "sourceIps": None, "decision": "Allow"}
