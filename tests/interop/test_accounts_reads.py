"""POP and queries at a broker with accounts, with right, wrong, missing and insufficient keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.interop.test_accounts import APP, CONF, ROOT, KeyedMqAdmin
from tests.peers.clients import Admin
from tests.peers.fixtures import GetJavaPeer, Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, bodies
from tests.peers.servers import Cluster
from tests.peers.sprocket import sprocket_cluster
from tests.peers.toolchain import needs_tools

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

OTHER = ("other", "other-secret-1")
WRONG, NOBODY = (APP[0], "wrong-secret"), ("nobody", "x" * 12)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """`app` may use topics and groups that begin with `my-`, `other` those that begin with `their-`."""
    running = sprocket_cluster(tmp_path_factory.mktemp("guarded"), CONF)
    with needs_tools():
        running.start()
    root = KeyedMqAdmin(tmp_path_factory.mktemp("mqadmin"), running, ROOT)
    where = f"-b {running.broker.address}"
    for (name, secret), prefix in ((APP, "my"), (OTHER, "their")):
        for line in (
            f"createUser {where} -u {name} -p {secret}",
            f"createAcl {where} -s User:{name} -r Topic:{prefix}-* -a Pub,Sub,Get -d Allow",
            f"createAcl {where} -s User:{name} -r Group:{prefix}-* -a Sub,Get -d Allow",
        ):
            ran = root(line)
            assert "success" in ran.stdout, ran
    root.close()
    yield running
    running.kill()


def found(admin: Admin, topic: str, key: str) -> list[str]:
    return [each["msgId"] for each in admin.call("queryMessage", topic, key, 64, 0, 2**62)["messageList"]]


def test_queries(guarded: Cluster, java_533: JavaPeer, unique: Unique) -> None:
    topic = unique("my-topic")
    with java_533.producer(unique("p"), guarded.address, acl=APP) as producer:
        sent = producer.send(Outgoing(topic, b"found", keys="key-1"))
    assert sent.offset_msg_id is not None
    for keys in (APP, ROOT):
        with java_533.admin(guarded.address, acl=keys) as admin:
            assert found(admin, topic, "key-1") == [sent.msg_id]
            for message_id in sent.msg_id, sent.offset_msg_id:
                assert admin.call("viewMessage", topic, message_id)["keys"] == "key-1"
    for wrong in (None, WRONG, NOBODY, OTHER):
        with java_533.admin(guarded.address, acl=wrong) as admin:
            with pytest.raises(PeerError):
                found(admin, topic, "key-1")
            for message_id in sent.msg_id, sent.offset_msg_id:
                with pytest.raises(PeerError):
                    admin.call("viewMessage", topic, message_id)


def test_pop(guarded: Cluster, java_peer: GetJavaPeer, unique: Unique) -> None:
    """A push consumer only logs that it is refused, so the one that may comes last and finds all of it."""
    java = java_peer("5.3.3", "JSON")  # binary headers hold request codes of 16 bits, and POP's do not fit
    topic, group, address = unique("my-topic"), unique("my-group"), guarded.address
    options = {"clientRebalance": False, "popInvisibleTime": 5000}
    with java.producer(unique("p"), address, acl=APP) as producer:
        producer.send_all([Outgoing(topic, b"%d" % number) for number in range(5)])
        with java.admin(address, acl=ROOT) as admin:
            for each in (group, "their-group"):
                admin.call("setMessageRequestMode", guarded.broker.address, topic, each, "POP", 8, 5000)
        with ExitStack() as running:
            strangers = [
                running.enter_context(java.push_consumer(name, address, [topic], options=options, acl=keys))
                for name, keys in ((group, WRONG), (group, NOBODY), (group, None), ("their-group", OTHER))
            ]
            with java.push_consumer(group, address, [topic], options=options, acl=APP) as consumer:
                messages = consumer.wait_bodies([b"%d" % number for number in range(5)])
                assert all("POP_CK" in message.properties for message in messages)
                consumer.script(failTimes=1)
                producer.send(Outgoing(topic, b"again"))
                consumer.wait_until(lambda seen: bodies(seen).count(b"again") == 2, 90)
            assert [stranger.received() for stranger in strangers] == [[]] * len(strangers)
