"""50, as mqadmin's updateAclConfig asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from sprocketmq.auth.plain.files import PlainFiles
from sprocketmq.auth.plain.handlers import UPDATE_FAILED, PlainHandlers, ServerNames
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection

from .test_files import home, loaded

NOBODY = cast(Connection, None)
KEY, SECRET = "account1", "secret12"
TEXT = f"accounts:\n- accessKey: {KEY}\n  secretKey: {SECRET}\n  defaultTopicPerm: PUB\n  topicPerms:\n  - a=SUB\n"


async def put(files: PlainFiles, **fields: str) -> None:
    handlers = PlainHandlers(files, ServerNames("c", "b", lambda: ""))
    await handlers.put(NOBODY, Command(50, ext_fields={"accessKey": KEY, **fields}))


@pytest.fixture
def files(tmp_path: Path) -> PlainFiles:
    return loaded(home(tmp_path, {"conf/plain_acl.yml": TEXT}))


async def test_an_empty_default_keeps_what_is_there(files: PlainFiles) -> None:
    await put(files, secretKey=SECRET, defaultTopicPerm="", defaultGroupPerm="SUB", topicPerms="b=PUB,c=SUB,")
    account = files.accounts.rights[KEY].account
    assert (account.default_topic_perm, account.default_group_perm) == ("PUB", "SUB")
    assert account.topic_perms == ("b=PUB", "c=SUB")


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"topicPerms": "b=PUB"}, "The accessKey=account1 and secretKey=*** cannot be null"),
        ({"secretKey": SECRET, "topicPerms": ""}, "Parse Resource format error for .\n"),
        ({"secretKey": SECRET, "groupPerms": "a=PUB,,b=SUB"}, "Parse Resource format error for .\n"),
    ],
)
async def test_what_is_no_change_is_refused(files: PlainFiles, fields: dict[str, str], remark: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        await put(files, **fields)
    assert caught.value.code == UPDATE_FAILED
    assert caught.value.remark.startswith(remark)
    assert files.accounts.rights[KEY].account.topic_perms == ("a=SUB",)
