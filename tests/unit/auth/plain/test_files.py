from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.auth.plain.files import PlainFiles
from sprocketmq.errors import ConfigError

from ..golden import GOLDEN, SEED_NAME


def home(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def loaded(root: Path) -> PlainFiles:
    files = PlainFiles(root, lambda: 0)
    files.load()
    return files


@pytest.mark.parametrize("row", GOLDEN["plainFiles"], ids=lambda row: row["note"])
def test_files_are_read_as_rocketmq_reads_them(row: dict[str, Any], tmp_path: Path) -> None:
    root = home(tmp_path, row["files"])
    if not row["loads"]:
        with pytest.raises(ConfigError):
            loaded(root)
        return
    accounts = loaded(root).accounts
    assert (root / "conf" / "plain_acl.yml").exists()
    assert list(accounts.white) == row["globalWhiteAddrs"]
    found = {
        key: {
            "accessKey": each.account.access_key,
            "secretKey": each.account.secret_key,
            "whiteRemoteAddress": each.account.white_remote_address,
            "admin": each.account.admin,
            "defaultTopicPerm": each.account.default_topic_perm,
            "defaultGroupPerm": each.account.default_group_perm,
            "topicPerms": None if each.account.topic_perms is None else list(each.account.topic_perms),
            "groupPerms": None if each.account.group_perms is None else list(each.account.group_perms),
        }
        for key, each in accounts.rights.items()
    }
    assert found == {each["accessKey"]: each for each in row["accounts"]}
    versions = {str(path).replace(str(root), "HOME"): {"counter": v[0]} for path, v in accounts.versions.items()}
    assert versions == row["versions"]


def test_no_secret_is_told_of_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    text = "accounts:\n- accessKey: abcdefg\n  secretKey: shorty\n"
    with pytest.raises(ConfigError) as caught:
        loaded(home(tmp_path, {"conf/plain_acl.yml": text}))
    assert "shorty" not in str(caught.value)
    assert "plain_acl.yml" in str(caught.value)


FIRST, SECOND, OTHER = f"first{SEED_NAME}00", f"second{SEED_NAME}", f"other{SEED_NAME}"
START = {
    "conf/plain_acl.yml": (
        f"globalWhiteRemoteAddresses:\n- 10.0.0.1\naccounts:\n- accessKey: {FIRST}\n  secretKey: {FIRST}\n"
        "  admin: true\n  topicPerms:\n  - a=PUB\n"
    ),
    "conf/acl/more.yml": f"accounts:\n- accessKey: {SECOND}\n  secretKey: {SECOND}00\n",
}
ROWS = GOLDEN["plainAdministration"]


def apply(files: PlainFiles, root: Path, row: dict[str, Any]) -> object:
    arguments = row["arguments"]
    if row["operation"] == "updateAccessConfig":
        if arguments is None:
            raise ConfigError("no account")
        files.put(arguments)
        return True
    if row["operation"] == "deleteAccessConfig":
        return files.delete(arguments or "")
    file = {"named file": str(root / "conf/acl/more.yml"), "no such file": str(root / "conf/acl/none.yml")}
    file["file outside the home"] = "/etc/hosts"
    return False if arguments is None else files.set_white(arguments, file.get(row["note"], ""))


def test_changes_leave_the_files_that_rocketmq_leaves(tmp_path: Path) -> None:
    root = home(tmp_path, START)
    files = loaded(root)
    for row in ROWS:
        # An address that cannot be is written there, and the file is never read again.
        if row["error"] or row["note"] == "an address that cannot be":
            before = {name: (root / name).read_text() for name in START}
            with pytest.raises(ConfigError) as caught:
                apply(files, root, row)
            assert {name: (root / name).read_text() for name in START} == before
            if row["arguments"] is not None and row["error"]:
                expected = re.sub(r"secretKey=\S+", "secretKey=***", row["error"].removeprefix("AclException: "))
                assert str(caught.value).endswith(expected)
            continue
        assert apply(files, root, row) is row["result"], row["note"]
        if row["note"] != "null":  # behind the address that cannot be
            assert {name: (root / name).read_text() for name in START} == row["filesAfter"], row["note"]


def touch(path: Path, text: str) -> None:
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def look_twice(files: PlainFiles) -> None:
    """What is new is read when it is the same at the next look."""
    files.reload()
    files.reload()


def test_a_changed_file_is_read_again_and_a_broken_one_is_not(tmp_path: Path) -> None:
    root = home(tmp_path, START)
    files, told = loaded(root), []
    files.on_change.append(lambda: told.append(sorted(files.accounts.rights)))
    files.reload()
    assert told == []
    touch(root / "conf/acl/more.yml", f"accounts:\n- accessKey: {OTHER}\n  secretKey: {SECOND}00\n")
    look_twice(files)
    assert told == [[FIRST, OTHER]]
    for broken in ("accounts: [\n", "[" * 20_000, "accounts: &all [*all]\n"):
        touch(root / "conf/acl/more.yml", broken)
        look_twice(files)
    touch(root / "conf/plain_acl.yml", "")
    look_twice(files)
    assert told == [[FIRST, OTHER]]
    assert sorted(files.accounts.rights) == [FIRST, OTHER]
    touch(root / "conf/acl/more.yml", "accounts: []\n")
    touch(root / "conf/plain_acl.yml", "accounts: []\n")
    look_twice(files)
    assert told[-1] == []


def test_the_first_half_of_a_file_is_not_read(tmp_path: Path) -> None:
    """It is YAML that can be read, and the accounts of the second half would be turned away."""
    root = home(tmp_path, START)
    files = loaded(root)
    third = f"third{SEED_NAME}"
    first, second = (f"- accessKey: {name}\n  secretKey: {name}00\n" for name in (SECOND, third))
    touch(root / "conf/acl/more.yml", f"# changed\naccounts:\n{first}")
    assert not files.reload()
    touch(root / "conf/acl/more.yml", f"# changed\naccounts:\n{first}{second}")
    assert not files.reload()
    assert sorted(files.accounts.rights) == [FIRST, SECOND]
    assert files.reload()
    assert sorted(files.accounts.rights) == [FIRST, SECOND, third]


def test_a_file_that_is_gone_for_a_moment_takes_no_account_away(tmp_path: Path) -> None:
    """As some editors save: the old one away, the new one there."""
    root = home(tmp_path, START)
    files, path = loaded(root), root / "conf/plain_acl.yml"
    text = path.read_text()
    path.unlink()
    look_twice(files)
    assert not path.exists(), "nothing is written into the editor's place"
    assert sorted(files.accounts.rights) == [FIRST, SECOND]
    path.write_text(text.replace(FIRST, f"{OTHER}00"))
    look_twice(files)
    assert sorted(files.accounts.rights) == [f"{OTHER}00", SECOND]


async def test_a_change_is_made_beside_the_loop_and_told_on_it(tmp_path: Path) -> None:
    files, threads = loaded(home(tmp_path, START)), []
    files.on_change.append(lambda: threads.append(threading.current_thread()))
    makers: list[threading.Thread] = []

    def make(draft: PlainFiles) -> bool:
        makers.append(threading.current_thread())
        return draft.delete(FIRST)

    assert await files.change(make)
    assert list(files.accounts.rights) == [SECOND]
    assert threads == [threading.main_thread()]
    assert makers != threads


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "conf/../../x.yml", "conf/acl/../acl/none.yml"])
def test_only_files_that_are_read_are_written(tmp_path: Path, name: str) -> None:
    root = home(tmp_path / "home", START)
    (tmp_path / "x.yml").write_text("accounts: []\n")
    files = loaded(root)
    assert files.set_white(["10.0.0.2"], str(root / name)) is False
    assert (tmp_path / "x.yml").read_text() == "accounts: []\n"


def test_an_access_key_of_digits_can_be_changed_and_deleted(tmp_path: Path) -> None:
    """YAML reads it as a number, and a request names it by a text: the old secret must not go on."""
    text = "accounts:\n- accessKey: 12345678\n  secretKey: secret12\n- accessKey: account2\n  secretKey: secret12\n"
    files = loaded(home(tmp_path, {"conf/plain_acl.yml": text}))
    files.put({"accessKey": "12345678", "secretKey": "another1", "admin": False})
    assert files.accounts.rights["12345678"].account.secret_key == "another1"
    assert files.delete("12345678")
    assert list(files.accounts.rights) == ["account2"]


@pytest.mark.parametrize("entry", ["t=", "=PUB", "t=PUB=SUB", "t"])
def test_what_is_no_permission_is_refused(entry: str, tmp_path: Path) -> None:
    text = f"accounts:\n- accessKey: account1\n  secretKey: secret12\n  topicPerms: ['{entry}']\n"
    with pytest.raises(ConfigError, match="Parse resource permission failed for topic"):
        loaded(home(tmp_path, {"conf/plain_acl.yml": text}))


def test_a_white_list_may_have_empty_places(tmp_path: Path) -> None:
    root = home(tmp_path, {"conf/plain_acl.yml": "globalWhiteRemoteAddresses:\n-\n- 1.2.3.4\n"})
    assert loaded(root).accounts.white == ("1.2.3.4",)


def test_the_file_of_a_wrong_address_is_named(tmp_path: Path) -> None:
    root = home(tmp_path, {"conf/acl/one.yml": "globalWhiteRemoteAddresses: [10.0.0.0/8]\n"})
    with pytest.raises(ConfigError, match=r"one\.yml: Netaddress examine Exception netaddress is 10\.0\.0\.0/8"):
        loaded(root)
