"""The small files of a server, accounts, settings, the key-value table: saved beside the loop, answered when safe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.fault.held_disk import HeldSyncs

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.config import from_properties
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting import RemotingClient

KEY, SECRET = "rootroot", "root-secret"
ACL = b'{"policies":[{"policyType":"Custom","entries":[{"resource":"Topic:t","actions":["Pub"],"decision":"Allow"}]}]}'
Change = tuple[RequestCode, dict[str, str], bytes]

#: What is there before.
BEFORE: dict[str, list[Change]] = {
    "accounts": [
        (RequestCode.PUT_KV_CONFIG, {"namespace": "N", "key": "old", "value": "v"}, b""),
        *((RequestCode.AUTH_CREATE_USER, {"username": name}, b'{"password":"p"}') for name in ("a", "b", "c")),
        *((RequestCode.AUTH_CREATE_ACL, {"subject": f"User:{name}"}, ACL) for name in ("b", "c")),
    ],
    "plain accounts": [
        (RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": "old-key", "secretKey": "old-secret"}, b""),
    ],
}
CHANGES: dict[str, list[Change]] = {
    "accounts": [
        (RequestCode.PUT_KV_CONFIG, {"namespace": "N", "key": "k", "value": "v"}, b""),
        (RequestCode.DELETE_KV_CONFIG, {"namespace": "N", "key": "old"}, b""),
        (RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"orderMessageEnable=true"),
        (RequestCode.AUTH_CREATE_USER, {"username": "d"}, b'{"password":"p"}'),
        (RequestCode.AUTH_UPDATE_USER, {"username": "a"}, b'{"userStatus":"disable"}'),
        (RequestCode.AUTH_DELETE_USER, {"username": "b"}, b""),
        (RequestCode.AUTH_CREATE_ACL, {"subject": "User:a"}, ACL),
        (RequestCode.AUTH_DELETE_ACL, {"subject": "User:c"}, b""),
    ],
    "plain accounts": [
        (RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": "new-key", "secretKey": "new-secret"}, b""),
        (RequestCode.DELETE_ACL_CONFIG, {"accessKey": "old-key"}, b""),
        (RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, {"globalWhiteAddrs": "10.0.0.1"}, b""),
    ],
}


def settings(kind: str, folder: Path) -> dict[str, str]:
    own = {"kvConfigPath": str(folder / "kv.json"), "configStorePath": str(folder / "namesrv.properties")}
    if kind == "accounts":
        user = f'{{"username":"{KEY}","password":"{SECRET}"}}'
        return {**own, "authenticationEnabled": "true", "initAuthenticationUser": user}
    (folder / "conf").mkdir()
    text = f"accounts:\n- accessKey: {KEY}\n  secretKey: {SECRET}\n  admin: true\n"
    (folder / "conf" / "plain_acl.yml").write_text(text)
    return {**own, "aclEnable": "true", "rocketmqHome": str(folder)}


class Administrator:
    def __init__(self, server: Nameserver) -> None:
        self.client = RemotingClient()
        self._address = server.address

    async def __call__(self, code: RequestCode, fields: dict[str, str], body: bytes = b"") -> Command:
        signed = with_signature(fields, body, access_key=KEY, secret_key=SECRET)
        return await self.client.call(self._address, Command(code, ext_fields=signed, body=body), 600)


@asynccontextmanager
async def started(kind: str, folder: Path) -> AsyncIterator[Administrator]:
    entries = {"listenPort": "0", "bindAddress": "127.0.0.1", "metricsExporterType": "DISABLE"}
    server = Nameserver(from_properties(NameserverConfig, entries | settings(kind, folder)))
    await server.start()
    ask = Administrator(server)
    yield ask
    await ask.client.close()
    await server.stop()


@pytest.mark.parametrize("kind", sorted(CHANGES))
async def test_a_file_that_is_not_saved_holds_up_its_change_alone(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(kind, tmp_path) as ask:
        for change in BEFORE[kind]:
            assert (await ask(*change)).code == ResponseCode.SUCCESS
        syncs = HeldSyncs(monkeypatch)
        try:
            waiting = [asyncio.ensure_future(ask(*change)) for change in CHANGES[kind]]
            async with asyncio.timeout(600):
                while not syncs.waiting.is_set():  # noqa: ASYNC110 - the threads tell nobody
                    await asyncio.sleep(0.01)
                for _ in range(20):
                    listed = await ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {})
                    assert listed.code == ResponseCode.SUCCESS
            assert [each.done() for each in waiting] == [False] * len(waiting)
        finally:
            syncs.going.set()
        for answer in [await each for each in waiting]:
            assert answer.code == ResponseCode.SUCCESS, answer.remark
        assert syncs.by_loop == 0
