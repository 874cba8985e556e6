from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.audit.before_and_after import account_looks
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting import RemotingClient

from ..test_identities import request


async def test_every_change_leaves_a_line_without_secrets(
    broker: Broker, client: RemotingClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "sprocketmq.audit"):
        for code in (3001, RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.UPDATE_BROKER_CONFIG, 3003):
            await client.call(broker.address, request(code, "root"), 60)
        await client.call(broker.address, request(3001, "app"), 60)
    audit = [record for record in caplog.records if record.name == "sprocketmq.audit"]
    lines = {record.getMessage(): record.fields for record in audit}  # type: ignore[attr-defined]
    assert list(lines) == [
        "auth create user",
        "update and create topic",
        "update broker config",
        "auth delete user",
    ]
    made = lines["auth create user"]
    assert (made["user"], made["result"], made["field_username"], made["old"]) == ("root", "done", "Mine", "")
    assert '"username":"Mine"' in made["new"]
    assert "127.0.0.1" in str(made["peer"])
    assert '"topicName":"Mine"' in lines["update and create topic"]["new"]
    assert lines["update broker config"]["old"] == "traceOn=true"
    assert lines["update broker config"]["new"] == "traceOn=false"
    everything = repr(lines)
    assert "secret" not in everything
    assert '"password":"p"' not in everything


def test_another_secret_is_seen_and_not_shown() -> None:
    accounts = AccountStore()
    accounts.create_user("app", "first-secret")
    look = account_looks(accounts)[RequestCode.AUTH_UPDATE_USER]
    change = Command(RequestCode.AUTH_UPDATE_USER, ext_fields={"username": "app"})
    first = look(change)
    assert look(change) == first
    accounts.update_user("app", password="second-secret")
    second = look(change)
    assert second != first
    assert "secret" not in first + second
    assert '"password":"*** ' in second


async def test_a_file_of_its_own(start_broker: StartBroker, client: RemotingClient, tmp_path: Path) -> None:
    """Without accounts too; nobody has a name then."""
    path = tmp_path / "audit" / "audit.log"
    plain = await start_broker(auditFile=str(path))
    await client.call(plain.address, request(RequestCode.UPDATE_AND_CREATE_TOPIC, "nobody"), 60)
    await client.call(plain.address, request(RequestCode.GET_ALL_TOPIC_CONFIG, "nobody"), 60)
    (line,) = path.read_text().splitlines()
    assert 'event="update and create topic" user=- ' in line
    assert "result=done" in line
    assert path.stat().st_mode & 0o077 == 0


def told(caplog: pytest.LogCaptureFixture) -> dict[str, tuple[str, str]]:
    """What was and what is, by the request."""
    records = [record for record in caplog.records if record.name == "sprocketmq.audit"]
    return {
        each.getMessage(): (each.fields.get("old", "-"), each.fields.get("new", "-"))  # type: ignore[attr-defined]
        for each in records
    }


async def test_what_a_broker_is_told_in_bodies_is_told_too(
    broker: Broker, client: RemotingClient, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask(code: int, body: bytes = b"", **fields: str) -> None:
        signed = with_signature(fields, body, access_key="root", secret_key="root-secret")
        assert (await client.call(broker.address, Command(code, ext_fields=signed, body=body), 60)).code == 0

    for code in (RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP):
        await client.call(broker.address, request(code, "root"), 60)
    caplog.clear()
    with caplog.at_level("INFO", "sprocketmq.audit"):
        await ask(RequestCode.SET_MESSAGE_REQUEST_MODE, b'{"topic":"Mine","consumerGroup":"Mine","mode":"POP"}')
        await ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, group="Mine", topic="Mine", readable="false")
        await ask(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, b"Mine=100")
        await ask(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, b"Mine")
        await ask(RequestCode.SET_COMMITLOG_READ_MODE, READ_AHEAD_MODE="1")
    lines = told(caplog)
    old, new = lines.pop("set message request mode")
    assert (old, '"mode":"POP"' in new, '"consumerGroup":"Mine"' in new) == ("", True, True)
    assert lines == {
        "update and get group forbidden": ("forbidden=0", "forbidden=4"),
        "update cold data flow ctr config": ("Mine=", "Mine=100"),
        "remove cold data flow ctr config": ("Mine=100", "Mine="),
        "set commitlog read mode": ("dataReadAheadEnable=true", "dataReadAheadEnable=false"),
    }


async def test_an_account_of_rocketmq_4_is_named_without_its_secret(
    start_broker: StartBroker, client: RemotingClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = tmp_path / "home" / "conf"
    files.mkdir(parents=True)
    (files / "plain_acl.yml").write_text("accounts:\n- {accessKey: adminadmin, secretKey: adminadmin, admin: true}\n")
    broker = await start_broker(aclEnable="true", rocketmqHome=str(files.parent))

    async def ask(code: int, **fields: str) -> None:
        signed = with_signature(fields, b"", access_key="adminadmin", secret_key="adminadmin")
        answer = await client.call(broker.address, Command(code, ext_fields=signed), 60)
        assert answer.code == 0, answer.remark

    with caplog.at_level("INFO", "sprocketmq"):
        await ask(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, accessKey="account1", secretKey="told-nowhere")
        await ask(RequestCode.DELETE_ACL_CONFIG, accessKey="account1")
        await ask(RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, globalWhiteAddrs="10.9.9.9", aclFileFullPath="")
    lines = told(caplog)
    old, new = lines["update and create acl config"]
    assert (old, '"access_key":"account1"' in new) == ("", True)
    assert lines["delete acl config"] == (new, "")
    assert lines["update global white addrs config"] == ("", "10.9.9.9")
    assert "told-nowhere" not in repr([record.__dict__ for record in caplog.records])
