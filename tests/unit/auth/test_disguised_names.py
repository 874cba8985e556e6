"""A name that policies deny, in other spellings: what the guard was asked about is what the handler does."""

from __future__ import annotations

import pytest

from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import ANYTHING, Action, Decision, group, topic
from sprocketmq.broker.broker import Broker
from sprocketmq.codes import ResponseCode
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting import RemotingClient

from .test_identities import BODIES, FIELDS

#: Offsets, queues, tables: `Mine` is the name that every field and body of test_identities has.
_MORE = {
    "d": "4", "e": "0", "f": "0", "g": "0", "h": "0", "i": "", "j": "17", "l": "0", "bornTimestamp": "0", "flag": "0",
    "defaultTopicQueueNums": "4", "sysFlag": "0", "maxMsgNums": "1", "queueOffset": "0", "subVersion": "0",
    "suspendTimeoutMillis": "0", "subscription": "*",
}  # fmt: skip


def state(broker: Broker) -> list[object]:
    """What there is of the denied topic and group."""
    known = [*broker.topics.configs.items(), *broker.groups.configs.items()]
    queues = [
        (name, broker.store.max_offset(name, number)) for name in broker.topics.configs if "secret" in name
        for number in range(3)
    ]  # fmt: skip
    return [[each for each in known if "secret" in each[0]], queues, broker.offsets.topics_by_group().get("secret")]


@pytest.mark.parametrize(
    "name",
    ["secret", " secret", "secret ", "secret\t", "\u00a0secret", "secret\0", "%RETRY%secret+x", "%RETRY%secret"],
)
async def test_a_denied_name_in_another_spelling(broker: Broker, client: RemotingClient, name: str) -> None:
    denied = [PolicyEntry(each, (Action.ALL,), Decision.DENY) for each in (topic("secret"), group("secret"))]
    allowed = PolicyEntry(ANYTHING, (Action.ALL,), Decision.ALLOW)
    broker.access.accounts.put_acl("app", {PolicyType.CUSTOM: [allowed, *denied]})
    for each in ("secret", "%RETRY%secret", "%RETRY%secret+x", "%DLQ%secret"):
        await broker.topics.put(TopicConfig(topic_name=each, read_queue_nums=3, write_queue_nums=3))
    broker.groups.get("secret", None)
    before = state(broker)
    for code in sorted(broker.table.codes()):
        body = BODIES.get(code, b"x").replace(b"Mine", name.encode())
        fields = {key: name if value == "Mine" else value for key, value in {**FIELDS, **_MORE}.items()}
        for batch in ("false", "true"):
            signed = with_signature({**fields, "m": batch}, body, access_key="app", secret_key="app-secret")
            answer = await client.call(broker.address, Command(code, ext_fields=signed, body=body), 60)
            assert answer.code != ResponseCode.SUCCESS or state(broker) == before, (code, answer.remark)
    assert state(broker) == before
