"""Secrets that are marked, and then looked for in everything that a broker says, logs and writes."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker

from sprocketmq.logs import LogfmtFormatter
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting import RemotingClient

from .test_identities import BODIES, FIELDS

MARK = "MARKED-5ecret"
#: They show the secret of a user, to super users alone and where nobody listens.
SHOWN = {3004, 3005}


async def test_no_secret_is_said_logged_or_written_elsewhere(
    start_broker: StartBroker, client: RemotingClient, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, "sprocketmq")
    broker = await start_broker(
        authenticationEnabled="true",
        authorizationEnabled="true",
        initAuthenticationUser=f'{{"username":"root","password":"{MARK}-root"}}',
        innerClientAuthenticationCredentials=f'{{"accessKey":"inner","secretKey":"{MARK}-inner"}}',
        auditFile=str(tmp_path / "audit.log"),
    )
    said: list[str] = []
    bodies = {**BODIES, 3001: b'{"username":"Mine","password":"%s-new"}' % MARK.encode()}
    bodies[3002] = b'{"username":"Mine","password":"%s-newer"}' % MARK.encode()
    for code in sorted(broker.table.codes() - SHOWN):
        for secret in (f"{MARK}-root", f"{MARK}-wrong"):
            broker.access.wrong_keys._since.clear()
            fields = {**FIELDS, "secretKey": f"{MARK}-field", "password": f"{MARK}-field"}
            body = bodies.get(code, b"")
            signed = with_signature(fields, body, access_key="root", secret_key=secret)
            answer = await client.call(broker.address, Command(code, ext_fields=signed, body=body), 60)
            said.append(f"{code} {answer.remark} {answer.ext_fields} {bytes(answer.body)!r}")
    said.append(broker.metrics.text())
    formatter = LogfmtFormatter()
    said += [formatter.format(record) for record in caplog.records]
    said += [repr(broker.access.accounts.list_users()), repr(broker.settings.current.first_user())]
    await broker.stop()
    root = broker.store.layout.config.parent
    written = [path for path in (*root.rglob("*"), tmp_path / "audit.log") if path.is_file()]
    said += [path.read_bytes().decode("latin-1") for path in written if path.name != "users.json"]
    assert len(said) > 250
    assert [text[:300] for text in said if MARK in text] == []
    assert MARK in (root / "config" / "users.json").read_text()
