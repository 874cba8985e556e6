from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode
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
