from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sprocketmq.auth.guard import Guard
from sprocketmq.auth.plain.files import PlainFiles
from sprocketmq.auth.plain.realm import PlainRealm
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.signing import with_signature

from ..golden import GOLDEN, SEED_NAME
from ..test_guard import checked, connection
from .test_files import home, loaded

CONFS = {conf["name"]: conf["files"] for conf in GOLDEN["plainConfs"]}
#: A right signature is enough for these in 4.9.8; here they need what the request table says.
CLOSED_HERE = {
    "batch: no topic is checked", "lite pull", "end of a transaction", "reply", "reset offsets", "lock", "committed",
    "update acl", "delete acl", "a route that an administrator signed, sent as a deletion",
}  # fmt: skip
#: Answered in other words.
OTHER_WORDS = {"heartbeat that is no JSON", "heartbeat without a body"}


@pytest.fixture(scope="module")
def confs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PlainFiles]:
    return {name: loaded(home(tmp_path_factory.mktemp("home"), files)) for name, files in CONFS.items()}


def decided(files: PlainFiles, row: dict[str, Any]) -> str | None:
    body = (row["body"] or "").encode()
    sent = Command(row["code"], ext_fields=row["fields"], body=body, version=401)
    (request,) = FrameDecoder().feed(encode_frame(sent))
    host = (row["remote"] or "0.0.0.0:0").rpartition(":")[0] or row["remote"]
    try:
        checked(Guard(PlainRealm(files), "c"), connection(host.strip("[]")), request)
    except RequestRefused as refused:
        return refused.remark.removeprefix("org.apache.rocketmq.acl.common.AclException: ")
    return None


@pytest.mark.parametrize("row", GOLDEN["plainRequests"], ids=lambda row: f"{row['conf']}-{row['note']}")
def test_decisions(row: dict[str, Any], confs: dict[str, PlainFiles]) -> None:
    remark, note = decided(confs[row["conf"]], row), row["note"]
    if note.startswith("query by unique key"):
        # 4.9.8 never signs the flag, though its own clients do: their queries fail there, and are served here.
        assert (remark is None) is ("as 4.9.8 clients" in note)
    elif note == "send to another group's retry topic":
        assert remark is None or "group:other" in remark or "signature" in remark
    elif note == "no address":
        assert row["remote"] is None
    elif row["allowed"] and note in CLOSED_HERE:
        assert remark is None or remark.startswith(("No default permission", "Need admin"))
    elif note in OTHER_WORDS:
        assert row["fields"]["AccessKey"].startswith("adminbare")  # whom nobody asks: the handler refuses it
    elif remark and (row["error"] or "").startswith("No default permission"):
        assert remark.startswith("No default permission")  # of several needs one is named
    else:
        assert remark == row["error"]


def test_what_4_9_8_leaves_open_is_closed(confs: dict[str, PlainFiles]) -> None:
    """No account without the right to does any of these; in RocketMQ each of them may do all."""
    rows = [row for row in GOLDEN["plainRequests"] if row["note"] in CLOSED_HERE and row["conf"] == "admins"]
    plain = [row for row in rows if row["fields"]["AccessKey"] == f"nobody{SEED_NAME}00"]
    assert len(plain) == len(CLOSED_HERE) - 1
    assert all(row["allowed"] for row in plain)
    for row in plain:
        if row["note"] != "end of a transaction":  # the handler asks, for the topic of the half message
            assert decided(confs["admins"], row) is not None, row["note"]


def test_what_rests_is_read_by_whom_a_permission_names_the_topic_for(tmp_path: Path) -> None:
    accounts = "- {accessKey: reader1, secretKey: secret12, defaultTopicPerm: SUB, defaultGroupPerm: SUB%s}"
    for more, may in (("", False), (", topicPerms: [SCHEDULE_TOPIC_XXXX=SUB]", True)):
        files = loaded(home(tmp_path / str(may), {"conf/plain_acl.yml": "accounts:\n" + accounts % more}))
        for topic, allowed in (("orders", True), ("SCHEDULE_TOPIC_XXXX", may)):
            fields = {"topic": topic, "consumerGroup": "g"}
            signed = with_signature(fields, b"", access_key="reader1", secret_key="secret12")
            row = {"body": "", "code": 11, "fields": signed, "remote": "10.0.0.1:1"}
            assert (decided(files, row) is None) is allowed


def test_a_change_of_the_files_is_heard(tmp_path: Path) -> None:
    files = loaded(home(tmp_path, CONFS["admins"]))
    guard = Guard(PlainRealm(files), "c")
    files.on_change.append(guard.forget)
    generation = guard.generation
    assert files.delete(f"adminbare{SEED_NAME}")
    assert guard.generation == generation + 1
