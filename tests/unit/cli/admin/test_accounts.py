"""`sprocket user` and `sprocket acl`, on the files of a broker that is stopped and on one that runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sprocketmq.auth.account_files import AccountFiles
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.cli.main import main
from sprocketmq.errors import ConfigError, StoreLocked
from sprocketmq.store.files.lock import StoreLock


def run(*words: object, stdin: str = "") -> Result:
    return CliRunner().invoke(main, [*map(str, words)], input=stdin)


def rows(*words: object) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def kept(store: Path) -> AccountStore:
    accounts = AccountStore(AccountFiles(store / "config"))
    accounts.load()
    return accounts


def test_the_first_super_user_is_made_in_the_files(store: Path) -> None:
    made = run("user", "add", "root", "--super", "--random", "--store", store)
    assert made.exit_code == 0, made.output
    secret = made.stdout.splitlines()[1].removeprefix("password: ")
    user = kept(store).find("root")
    assert user is not None
    assert (user.is_super, user.password, len(secret) > 20) == (True, secret, True)
    assert secret not in run("user", "list", "--store", store).output
    assert rows("user", "list", "--store", store) == [
        {"user": "root", "type": "Super", "status": "enable", "strict": False}
    ]


@pytest.mark.parametrize("words", [("user", "list"), ("acl", "list"), ("user", "remove", "ada", "--yes")])
def test_a_store_that_is_not_there_is_a_mistake(tmp_path: Path, words: tuple[str, ...]) -> None:
    """And looking at it makes none; a new broker's first user may be there before its store."""
    store = tmp_path / "tpyo"
    result = run(*words, "--store", store)
    assert (result.exit_code, "Invalid value for --store" in result.output) == (2, True)
    assert not store.exists()


def test_a_secret_from_standard_input(store: Path) -> None:
    assert run("user", "add", "app", "--password-stdin", "--store", store, stdin="of-the-pipe\n").exit_code == 0
    assert run("user", "change", "app", "--disable", "--strict", "--store", store).exit_code == 0
    user = kept(store).find("app")
    assert user is not None
    assert (user.password, user.is_enabled, user.strict) == ("of-the-pipe", False, True)
    assert run("user", "add", "b", "--random", "--password", "x", "--store", store).exit_code != 0


def test_a_broker_that_runs_keeps_its_files(store: Path) -> None:
    lock = StoreLock(store / "lock")
    try:
        result = run("user", "add", "root", "--random", "--store", store)
    finally:
        lock.release()
    assert isinstance(result.exception, StoreLocked)


def test_policies_and_why(store: Path, tmp_path: Path) -> None:
    run("user", "add", "app", "--password", "pw", "--store", store)
    assert run("acl", "add", "app", "Topic:orders-*", "pub,Get", "--store", store).exit_code == 0
    assert (
        run("acl", "add", "app", "Topic:orders-eu", "Pub", "--deny", "--from", "10.0.0.0/8", "--store", store).exit_code
        == 0
    )
    listed = rows("acl", "list", "app", "--store", store)
    assert [row["resource"] for row in listed] == ["Topic:orders-*", "Topic:orders-eu"]
    for words, allowed, why in (
        (("Pub", "Topic:orders-us"), True, "its custom policy says: Allow Pub,Get on Topic:orders-*"),
        (("Pub", "Topic:orders-eu", "--from", "10.1.1.1"), False, "Deny Pub on Topic:orders-eu from 10.0.0.0/8"),
        (("Pub", "Topic:orders-eu", "--from", "11.1.1.1"), True, "Allow Pub,Get on Topic:orders-*"),
        (("Sub", "Topic:orders-us"), False, "no policy speaks of it"),
    ):
        result = run("acl", "test", "app", *words, "--store", store)
        assert result.exit_code == (0 if allowed else 1)
        assert why in " ".join(result.output.split())
    file = tmp_path / "policies.json"
    assert run("acl", "export", file, "--store", store).exit_code == 0
    assert run("acl", "remove", "app", "--yes", "--store", store).exit_code == 0
    assert rows("acl", "list", "--store", store) == []
    assert run("acl", "import", file, "--store", store).exit_code == 0
    assert rows("acl", "list", "app", "--store", store) == listed
    assert "pw" not in file.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Topic:a", "Fly"), "Fly: no action; "),
        (("Topic:a", "Pub,Sbu"), "Sbu: no action; "),  # RocketMQ would pass over it
        (("Queue:a", "Pub"), "Queue:a: no resource; say Topic:NAME"),
        (("orders", "Pub"), "orders: no resource; say Topic:NAME"),
        (("Topic:a", "Pub", "--from", "10.*"), "source ip"),
    ],
)
def test_an_entry_that_cannot_be(store: Path, words: tuple[str, ...], said: str) -> None:
    result = run("acl", "add", "app", *words, "--store", store)
    assert isinstance(result.exception, ConfigError)
    assert said in str(result.exception)


def test_what_is_not_there_is_not_removed(store: Path) -> None:
    run("user", "add", "app", "--password", "pw", "--store", store)
    run("acl", "add", "app", "Topic:orders", "Pub", "--store", store)
    for words in (("user", "remove", "ap"), ("acl", "remove", "app", "Topic:order"), ("acl", "remove", "ap")):
        result = run(*words, "--yes", "--store", store)
        assert isinstance(result.exception, ConfigError), words
        assert "sprocket" in str(result.exception)
    assert run("acl", "remove", "app", "topic:orders", "--yes", "--store", store).exit_code == 0
    assert rows("acl", "list", "--store", store) == []
    assert run("user", "remove", "app", "--yes", "--store", store).exit_code == 0


@pytest.mark.parametrize("address", ["nonsense", "10.1.1", "10.0.0.0/8", ""])
def test_a_question_from_nowhere(store: Path, address: str) -> None:
    run("user", "add", "app", "--password", "pw", "--store", store)
    result = run("acl", "test", "app", "Pub", "Topic:a", "--from", address, "--store", store)
    assert isinstance(result.exception, ConfigError)
    assert "is no address" in str(result.exception)


def test_a_file_that_is_none(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('[{"subject":"User:a","policies":[{"entries":[{"resource":"Nope:x"}]}]}]')
    result = run("acl", "import", file, "--store", store)
    assert isinstance(result.exception, ConfigError)
    assert "x.json" in str(result.exception)


def test_the_admin_client_speaks_to_a_broker(tmp_path: Path) -> None:
    from tests.unit.broker.support import make_broker

    from sprocketmq.client import AdminClient, Credentials
    from sprocketmq.client.admin.accounts import Accounts as AccountAdmin
    from sprocketmq.protocol.bodies.acl import UserInfo

    async def scene() -> list[UserInfo]:
        broker = make_broker(
            tmp_path / "store", None, None, authenticationEnabled="true", authorizationEnabled="true",
            initAuthenticationUser='{"username":"root","password":"root-secret"}',
        )  # fmt: skip
        await broker.start()
        try:
            keys = Credentials("root", "root-secret", strict=True)
            async with AdminClient("127.0.0.1:1", credentials=keys) as admin:
                accounts: AccountAdmin = admin.accounts
                await accounts.add_user(UserInfo(username="app", password="pw"), broker=broker.address)
                await accounts.change_user(UserInfo(username="root", strict=True), broker=broker.address)
                return await accounts.users(broker=broker.address)
        finally:
            await broker.stop()

    users = asyncio.run(scene())
    assert [(user.username, user.strict) for user in users] == [("app", None), ("root", True)]
