"""Real clients at a broker with accounts: each thing they can do, with right, wrong, missing and another's keys.

                 send  batch  push  pull  lite pull  POP  transaction  query  admin
    Java 4.9.8    x      x     x     x        x       -        x         x      x
    Java 5.3.3    x      x     x     x        x       x        x         x      x
    Go            x      x     x     x        -       -        x         -      x

What has a `-` the client has no call for. mqadmin is in `test_accounts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest
from tests.interop.accounts.test_accounts import APP, CONF, ROOT
from tests.peers.clients import Admin, Options, PushConsumer
from tests.peers.fixtures import GetJavaPeer, Peer, Unique
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Sent, bodies
from tests.peers.servers import Cluster
from tests.peers.sprocket import sprocket_cluster
from tests.peers.toolchain import needs_tools

from sprocketmq.client import Credentials
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.protocol.bodies.acl import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

Keys = tuple[str, str] | None
OTHER = ("other", "other-secret-1")
#: Of somebody who may not, and what the broker says to each.
REFUSED: dict[Keys, str] = {
    (APP[0], "wrong-secret"): "check signature failed",
    None: "username cannot be null",
    OTHER: "no permission",
}
#: One try: after ten in a minute a refusal takes a second.
ONCE: dict[type, Options] = {JavaPeer: {"retryTimesWhenSendFailed": 0}, GoPeer: {"retries": 0}}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """`app` may use topics and groups that begin with `my-`, `other` those that begin with `their-`."""
    running = sprocket_cluster(tmp_path_factory.mktemp("guarded"), CONF)
    with needs_tools():
        running.start()
    with AdminClient(running.address, credentials=Credentials(*ROOT)) as admin:
        for (name, secret), prefix in ((APP, "my"), (OTHER, "their")):
            admin.accounts.add_user(UserInfo(username=name, password=secret), broker=running.broker.address)
            entries = tuple(
                PolicyEntryInfo(resource=f"{kind}:{prefix}-*", actions=("Pub", "Sub", "Get"), decision="Allow")
                for kind in ("Topic", "Group")
            )
            acl = AclInfo(subject=f"User:{name}", policies=(PolicyInfo(policy_type="Custom", entries=entries),))
            admin.accounts.put_acl(acl, broker=running.broker.address)
    yield running
    running.kill()


def refused(keys: Keys) -> AbstractContextManager[pytest.ExceptionInfo[PeerError]]:
    return pytest.raises(PeerError, match=REFUSED[keys])


def sent_by(peer: Peer, guarded: Cluster, topic: str, unique: Unique, body: bytes = b"mine") -> Sent:
    with peer.producer(unique("p"), guarded.address, acl=APP) as producer:
        return producer.send(Outgoing(topic, body, keys="key-1"))


def alone_reads(
    consumer: Callable[[Keys], PushConsumer], do: Callable[[PushConsumer], object], strangers: Iterator[Keys]
) -> None:
    """A push consumer only logs that it is refused, so the one that may comes last, and finds all of it."""
    with ExitStack() as running:
        others = [running.enter_context(consumer(keys)) for keys in strangers]
        with consumer(APP) as mine:
            do(mine)
        assert [other.received() for other in others] == [[]] * len(others)


# -- each of the clients ----------------------------------------------------------------------------------------------


def test_sends_and_batches(guarded: Cluster, peer: Peer, unique: Unique) -> None:
    topic = unique("my-topic")
    both = [Outgoing(topic, b"four"), Outgoing(topic, b"five")]
    with peer.producer(unique("p"), guarded.address, acl=APP) as producer:
        producer.send(Outgoing(topic, b"one"))
        producer.send_all([Outgoing(topic, b"two")], "async")
        producer.send_all([Outgoing(topic, b"three")], "oneway")
        producer.send_batch(both)
    for keys in REFUSED:
        with peer.producer(unique("p"), guarded.address, options=ONCE[type(peer)], acl=keys) as producer:
            with refused(keys):
                producer.send(Outgoing(topic, b"stolen"))
            with refused(keys):
                producer.send_batch([Outgoing(topic, b"stolen"), Outgoing(topic, b"stolen")])
            producer.send_all([Outgoing(topic, b"stolen")], "oneway")
    with peer.push_consumer(unique("my-group"), guarded.address, [topic], acl=APP) as consumer:
        found = consumer.wait_bodies([b"one", b"two", b"three", b"four", b"five"])
        assert b"stolen" not in bodies(found)


def test_push(guarded: Cluster, peer: Peer, unique: Unique) -> None:
    topic, group, address = unique("my-topic"), unique("my-group"), guarded.address
    sent_by(peer, guarded, topic, unique)
    alone_reads(
        lambda keys: peer.push_consumer(group, address, [topic], acl=keys),
        lambda mine: mine.wait_bodies([b"mine"]),
        iter(REFUSED),
    )
    with peer.push_consumer("their-group", address, [topic], acl=APP) as other:
        with peer.push_consumer(unique("my-group"), address, [topic], acl=APP, orderly=True) as consumer:
            assert bodies(consumer.wait(1)) == [b"mine"]
        assert other.received() == []


def test_pull(guarded: Cluster, peer: Peer, unique: Unique) -> None:
    topic, group = unique("my-topic"), unique("my-group")
    queue = sent_by(peer, guarded, topic, unique).queue

    def pull(name: str, keys: Keys) -> str:
        if isinstance(peer, GoPeer):
            with peer.pull_consumer(name, guarded.address, [topic], acl=keys) as going:
                return str(going.pull(queue, 0)["pullStatus"])
        with peer.pull_consumer(name, guarded.address, acl=keys) as consumer:
            return str(consumer.pull(queue, 0)["pullStatus"])

    assert pull(group, APP) == "FOUND"
    for keys in REFUSED:
        with refused(keys):
            pull(group, keys)
    with refused(OTHER):
        pull("their-group", APP)


def test_transactions(guarded: Cluster, peer: Peer, unique: Unique) -> None:
    topic, address = unique("my-topic"), guarded.address
    with peer.producer(unique("my-p"), address, transactional=True, acl=APP) as producer:
        producer.transact(Outgoing(topic, b"committed"), "COMMIT_MESSAGE")
        producer.transact(Outgoing(topic, b"rolled back"), "ROLLBACK_MESSAGE")
        for keys in REFUSED:
            options = ONCE[type(peer)]
            with peer.producer(unique("my-p"), address, options=options, transactional=True, acl=keys) as other:
                with refused(keys):
                    other.transact(Outgoing(topic, b"stolen"), "COMMIT_MESSAGE")
        producer.transact(Outgoing(topic, b"last"), "COMMIT_MESSAGE")
        with peer.push_consumer(unique("my-group"), address, [topic], acl=APP) as consumer:
            assert sorted(bodies(consumer.wait(2))) == [b"committed", b"last"]


# -- what Java alone has ----------------------------------------------------------------------------------------------


def test_lite_pulls(guarded: Cluster, java: JavaPeer, unique: Unique) -> None:
    """A refused one is told so when it asks where its group stands."""
    topic, group = unique("my-topic"), unique("my-group")
    queue = sent_by(java, guarded, topic, unique).queue
    with java.lite_pull_consumer(group, guarded.address, acl=APP) as consumer:
        consumer.assign(queue)
        consumer.poll_up_to(queue, 1)  # a seek may interrupt its own pull as long as the first has brought nothing
        consumer.seek(queue, 0)
        consumer.poll_up_to(queue, 1)
        consumer.commit()
    for keys in REFUSED:
        with java.lite_pull_consumer(group, guarded.address, acl=keys) as consumer, refused(keys):
            consumer.seek_to_begin(queue)


def found(admin: Admin, topic: str, key: str) -> list[str]:
    return [each["msgId"] for each in admin.call("queryMessage", topic, key, 64, 0, 2**62)["messageList"]]


def test_queries(guarded: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic = unique("my-topic")
    sent = sent_by(java, guarded, topic, unique)
    assert sent.offset_msg_id is not None
    for keys in (APP, ROOT):
        with java.admin(guarded.address, acl=keys) as admin:
            assert found(admin, topic, "key-1") == [sent.msg_id]
            for message_id in sent.msg_id, sent.offset_msg_id:
                assert admin.call("viewMessage", topic, message_id)["keys"] == "key-1"
    for wrong in REFUSED:
        with java.admin(guarded.address, acl=wrong) as admin:
            with pytest.raises(PeerError):
                found(admin, topic, "key-1")
            for message_id in sent.msg_id, sent.offset_msg_id:
                with pytest.raises(PeerError):
                    admin.call("viewMessage", topic, message_id)


def test_administration(guarded: Cluster, java: JavaPeer, unique: Unique) -> None:
    topic, broker = unique("my-topic"), guarded.broker.address
    wanted = {"topicName": topic, "readQueueNums": 3, "writeQueueNums": 3, "perm": 6}
    for keys in (*REFUSED, APP):
        with java.admin(guarded.address, acl=keys) as admin:
            for call in (("getBrokerConfig", broker), ("createAndUpdateTopicConfig", broker, wanted)):
                with refused(OTHER if keys == APP else keys):
                    admin.call(*call)
    with java.admin(guarded.address, acl=ROOT) as admin:
        assert admin.call("getBrokerConfig", broker)["brokerName"]
        assert topic not in admin.call("getAllTopicConfig", broker, 5000)["topicConfigTable"]
        admin.call("createAndUpdateTopicConfig", broker, wanted)
        assert topic in admin.call("getAllTopicConfig", broker, 5000)["topicConfigTable"]


def test_pop(guarded: Cluster, java_peer: GetJavaPeer, unique: Unique) -> None:
    java = java_peer("5.3.3", "JSON")  # binary headers hold request codes of 16 bits, and POP's do not fit
    topic, group, address = unique("my-topic"), unique("my-group"), guarded.address
    options = {"clientRebalance": False, "popInvisibleTime": 5000}
    with java.producer(unique("p"), address, acl=APP) as producer, java.admin(address, acl=ROOT) as admin:
        producer.send_all([Outgoing(topic, b"%d" % number) for number in range(5)])
        admin.call("setMessageRequestMode", guarded.broker.address, topic, group, "POP", 8, 5000)

        def pop(consumer: PushConsumer) -> None:
            messages = consumer.wait_bodies([b"%d" % number for number in range(5)])
            assert all("POP_CK" in message.properties for message in messages)
            consumer.script(failTimes=1)
            producer.send(Outgoing(topic, b"again"))
            consumer.wait_until(lambda seen: bodies(seen).count(b"again") == 2, 90)

        alone_reads(
            lambda keys: java.push_consumer(group, address, [topic], options=options, acl=keys), pop, iter(REFUSED)
        )


# -- and Go -----------------------------------------------------------------------------------------------------------


def test_administration_by_go(guarded: Cluster, go_peer: GoPeer, unique: Unique) -> None:
    topic, broker = unique("my-topic"), guarded.broker.address
    for keys in (*REFUSED, APP):
        with go_peer.admin(guarded.address, acl=keys) as admin:
            with pytest.raises(PeerError, match="unexpected end of JSON input"):
                admin.groups(broker)
            admin.create_topic(broker, topic)
    with AdminClient(guarded.address, credentials=Credentials(*ROOT)) as looking:
        with go_peer.admin(guarded.address, acl=ROOT) as admin:
            assert "TOOLS_CONSUMER" in admin.groups(broker)
            assert topic not in looking.topics.names()
            admin.create_topic(broker, topic)
            assert topic in looking.topics.names()
