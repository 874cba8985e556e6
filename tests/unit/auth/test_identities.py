"""Every request code, asked by six identities of a broker that runs: who gets through, and that a refusal changes
nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.request_table import REQUESTS, Level
from sprocketmq.auth.authorization.requirements import needs_of
from sprocketmq.auth.authorization.resources import Action, Decision, Pattern, Resource, ResourceType
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode, SerializeType
from sprocketmq.config import from_properties
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.controller.server import Controller
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting import RemotingClient

_NAMES = "topic b defaultTopic group groupName consumerGroup destGroup srcGroup compareGroup username a producerGroup"
FIELDS = {
    **dict.fromkeys(_NAMES.split(), "Mine"), "subject": "User:app", "queueId": "0", "offset": "0", "key": "traceOn",
    "readQueueNums": "4", "writeQueueNums": "4", "perm": "6", "order": "false", "topicFilterType": "SINGLE_TAG",
    "commitOffset": "0", "timestamp": "0", "isForce": "true", "msgId": "7F00000100002A9F0000000000000000",
}  # fmt: skip
BODIES = {
    18: b'{"topicConfigList":[{"topicName":"Mine"}]}',
    25: b"traceOn=false",
    34: b'{"clientID":"c","consumerDataSet":[{"groupName":"Mine","subscriptionDataSet":[{"topic":"Mine"}]}]}',
    41: b'{"consumerGroup":"Mine","clientId":"c","mqSet":[{"brokerName":"b","queueId":0,"topic":"Mine"}]}',
    42: b'{"consumerGroup":"Mine","clientId":"c","mqSet":[{"brokerName":"b","queueId":0,"topic":"Mine"}]}',
    46: b'{"group":"Mine","subscriptionData":{"topic":"Mine"}}',
    200: b'{"groupName":"Mine"}',
    225: b'{"groupConfigList":[{"groupName":"Mine"}]}',
    400: b'{"topic":"Mine","consumerGroup":"Mine"}',
    401: b'{"topic":"Mine","consumerGroup":"Mine"}',
    3001: b'{"username":"Mine","password":"p"}',
    3006: b'{"subject":"User:app","policies":[{"entries":[{"resource":"*","actions":["All"],"decision":"Allow"}]}]}',
    3007: b'{"subject":"User:app","policies":[{"entries":[{"resource":"*","actions":["All"],"decision":"Allow"}]}]}',
    200151: b'{"acks":[{"c":"Mine","t":"Mine"}]}',
}
REFUSED = {"nobody": "username cannot", "unknown": "is not found", "wrong": "check signature failed"}


def request(code: int, who: str, serialize_type: int = SerializeType.JSON) -> Command:
    fields, body = dict(FIELDS), BODIES.get(code, b"")
    secrets = {"unknown": ("stranger", "s"), "wrong": ("root", "wrong"), "app": ("app", "app-secret")}
    secrets |= {"exact": ("exact", "exact-secret"), "root": ("root", "root-secret")}
    if who in secrets:
        fields = with_signature(fields, body, access_key=secrets[who][0], secret_key=secrets[who][1])
    return Command(code, ext_fields=fields, body=body, serialize_type=serialize_type)


def files_below(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "checkpoint"
    }


def state(broker: Broker) -> dict[str, str]:
    """The files of the store, and what is in the tables."""
    files = files_below(broker.store.layout.config.parent)
    tables = (broker.topics.configs, broker.groups.configs, broker.settings.entries(), broker.offsets.topics_by_group())
    return {**files, "tables": repr(tables), "log": str(broker.store.log.max_offset)}


async def test_the_table_holds_on_a_running_broker(broker: Broker, client: RemotingClient) -> None:
    accounts = broker.access.accounts
    for job in broker._jobs:
        job.stop()  # what is saved now and then is no answer to anybody
    before = state(broker)
    passed: set[tuple[str, int]] = set()
    for code in sorted({*broker.table.codes(), 9999}):
        for who in ("nobody", "unknown", "wrong", "app"):
            broker.access.wrong_keys._since.clear()  # nobody is slowed down here
            answer = await client.call(broker.address, request(code, who), 60)
            if answer.code != ResponseCode.NO_PERMISSION:
                passed.add((who, code))
            else:
                assert REFUSED.get(who, "no permission") in (answer.remark or ""), (who, code, answer.remark)
    assert state(broker) == before
    open_to_users = {code for code in broker.table.codes() if REQUESTS[code].level is Level.USER}
    stored = {RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.END_TRANSACTION}  # they found no record to be refused for
    assert passed == {("app", code) for code in {*open_to_users, *stored, 9999}}
    for code in sorted(broker.table.codes()):
        row = REQUESTS[code]
        if row.level is Level.POLICY:
            needs = needs_of(row, FIELDS, BODIES.get(code, b""), "DefaultCluster")
            allowed = [
                PolicyEntry(Resource(need.type, Pattern.LITERAL, need.name), need.actions[:1], Decision.ALLOW)
                for need in needs
                if need is not None
            ]
            if allowed:
                accounts.put_acl("exact", {PolicyType.CUSTOM: allowed})
        answer = await client.call(broker.address, request(code, "exact"), 60)
        may = row.level in (Level.POLICY, Level.USER)
        assert ("no permission" not in (answer.remark or "")) is may, (code, answer.remark)
        if accounts.acl_of("exact") is not None:
            accounts.delete_acl("exact")


@pytest.mark.parametrize("serialize_type", list(SerializeType))
async def test_a_super_user_is_refused_nothing(broker: Broker, client: RemotingClient, serialize_type: int) -> None:
    for code in sorted(broker.table.codes()):
        if serialize_type == SerializeType.ROCKETMQ and code > 0x7FFF:
            continue  # the binary header has two bytes for it
        answer = await client.call(broker.address, request(code, "root", serialize_type), 60)
        assert "no permission" not in (answer.remark or ""), (code, answer.remark)
        assert "signature" not in (answer.remark or ""), (code, answer.remark)


def made(role: str, folder: Path) -> Nameserver | Controller:
    entries = {
        "bindAddress": "127.0.0.1", "listenPort": "0", "metricsExporterType": "DISABLE",
        "authenticationEnabled": "true", "authorizationEnabled": "true", "authStorePath": str(folder),
        "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
        "innerClientAuthenticationCredentials": '{"accessKey":"exact","secretKey":"exact-secret"}',
    }  # fmt: skip
    if role == "nameserver":
        paths = {"kvConfigPath": str(folder / "kv.json"), "configStorePath": str(folder / "namesrv.properties")}
        return Nameserver(from_properties(NameserverConfig, {**entries, **paths}))
    entries["configStorePath"] = str(folder / "controller.properties")
    return Controller(from_properties(ControllerConfig, entries), FileEngine(folder / "controller.json"))


@pytest.mark.parametrize("role", ["nameserver", "controller"])
async def test_the_table_holds_on_other_servers(role: str, tmp_path: Path, client: RemotingClient) -> None:
    server = made(role, tmp_path)
    await server.start()
    try:
        server.access.accounts.create_user("app", "app-secret")
        before = files_below(tmp_path)
        passed: set[tuple[str, int]] = set()
        for code in sorted({*server.codes(), 9999}):
            for who in ("nobody", "unknown", "wrong", "app", "root"):
                if who == "root":
                    assert files_below(tmp_path) == before, code
                server.access.wrong_keys._since.clear()  # nobody is slowed down here
                answer = await client.call(server.address, request(code, who), 60)
                if answer.code != ResponseCode.NO_PERMISSION:
                    passed.add((who, code))
            before = files_below(tmp_path)
        open_to_users = {code for code in server.codes() if REQUESTS[code].level is Level.USER}
        assert passed == {
            *(("app", code) for code in {*open_to_users, 9999}), *(("root", code) for code in {*server.codes(), 9999})
        }  # fmt: skip
        brokers = {code for code in server.codes() if REQUESTS[code].level is Level.BROKER}
        answers = [await client.call(server.address, request(code, "exact"), 60) for code in sorted(brokers)]
        assert ResponseCode.NO_PERMISSION not in {answer.code for answer in answers}
    finally:
        await server.stop()


async def test_a_oneway_request_that_is_refused_has_no_effect(broker: Broker, client: RemotingClient) -> None:
    before = dict(broker.topics.configs)
    await client.oneway(broker.address, request(RequestCode.UPDATE_AND_CREATE_TOPIC, "app"))
    await client.call(broker.address, request(105, "app"), 60)  # answered behind it
    assert broker.topics.configs == before


def signed(code: int, key: str, body: bytes = b"", **fields: str) -> Command:
    return Command(code, ext_fields=with_signature(fields, body, access_key=key, secret_key=f"{key}-secret"), body=body)


async def test_the_stored_record_s_topic_decides(broker: Broker, client: RemotingClient) -> None:
    """Whoever names a topic of its own in the request sees and ends nothing of another one."""
    accounts = broker.access.accounts
    mine = Resource(ResourceType.TOPIC, Pattern.LITERAL, "Mine")
    accounts.put_acl("app", {PolicyType.CUSTOM: [PolicyEntry(mine, (Action.ALL,), Decision.ALLOW)]})
    send = {"a": "p", "c": "TBW102", "d": "1", "e": "0", "g": "0", "h": "0", "j": "0"}
    for topic, prepared in (("Theirs", False), ("Theirs", True), ("Mine", False)):
        properties = "UNIQ_KEY\x017F\x02PGROUP\x01p\x02" + ("TRAN_MSG\x01true\x02" if prepared else "")
        flag = "4" if prepared else "0"
        answer = await client.call(
            broker.address, signed(310, "root", b"body", **send, b=topic, f=flag, i=properties), 60
        )
        assert answer.code == 0
        fields = answer.ext_fields or {}
        at = int(fields["msgId"][-16:], 16)
        view = signed(RequestCode.VIEW_MESSAGE_BY_ID, "app", topic="Mine", offset=str(at))
        seen = await client.call(broker.address, view, 60)
        assert (seen.code == 0) is (topic == "Mine")
        if prepared:
            end = {
                "topic": "Mine", "producerGroup": "p", "commitLogOffset": str(at), "commitOrRollback": "8",
                "tranStateTableOffset": fields["queueOffset"], "fromTransactionCheck": "false", "msgId": "7F",
            }  # fmt: skip
            ended = await client.call(broker.address, signed(RequestCode.END_TRANSACTION, "app", b"", **end), 60)
            assert ended.code == ResponseCode.NO_PERMISSION
            assert "Topic:Theirs" in (ended.remark or "")
            ended = await client.call(broker.address, signed(RequestCode.END_TRANSACTION, "root", b"", **end), 60)
            assert ended.code == 0
