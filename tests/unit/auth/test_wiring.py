"""A server with accounts: in one process, over its socket."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting import RemotingClient

ROOT = '{"username":"root","password":"root-secret"}'


async def ask(
    broker: Broker, code: int, fields: dict[str, str] | None = None, key: str = "", secret: str = ""
) -> Command:
    signed = with_signature(fields or {}, b"", access_key=key, secret_key=secret) if key else fields
    client = RemotingClient()
    try:
        return await client.call(broker.address, Command(code, ext_fields=signed), 60)
    finally:
        await client.close()


async def test_the_first_user_opens_the_door(start_broker: StartBroker, tmp_path: Path) -> None:
    broker = await start_broker(authenticationEnabled="true", authorizationEnabled="true", initAuthenticationUser=ROOT)
    code = RequestCode.GET_BROKER_CONFIG
    assert (await ask(broker, code)).remark == "username cannot be null."
    assert (await ask(broker, code, key="root", secret="wrong")).remark == "check signature failed."
    answer = await ask(broker, code, key="root", secret="root-secret")
    assert answer.code == 0
    assert b"root-secret" not in answer.body
    assert b"initAuthenticationUser=***" in answer.body
    unknown = await ask(broker, 9999, key="root", secret="root-secret")
    assert unknown.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert (await ask(broker, 9999)).code == ResponseCode.NO_PERMISSION


async def test_the_codes_a_broker_serves_have_rows_that_somebody_may_ask(start_broker: StartBroker) -> None:
    from sprocketmq.auth.authorization.request_table import REQUESTS, Level

    broker = await start_broker()
    served = broker.table.codes()
    assert {code for code in served if code not in REQUESTS or REQUESTS[code].level is Level.NOBODY} == set()


@pytest.mark.parametrize("user", [None, "root"])
async def test_this_machine_is_no_account(start_broker: StartBroker, user: str | None) -> None:
    broker = await start_broker(authenticationEnabled="true", initAuthenticationUser=ROOT)
    answer = await ask(broker, RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"}, user or "", "root-secret")
    assert (answer.code == 0) is (user is not None)
