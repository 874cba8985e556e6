"""A broker with accounts: real clients and the real mqadmin, with right, wrong, missing and insufficient keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.peers.fixtures import Unique
from tests.peers.go_peer import GoPeer
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue, bodies
from tests.peers.mqadmin import MqAdmin, Ran
from tests.peers.servers import Cluster
from tests.peers.sprocket import sprocket_cluster
from tests.peers.toolchain import needs_tools

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

ROOT = ("root", "root-secret-1")
APP = ("app", "app-secret-12")
CONF = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": f'{{"username":"{ROOT[0]}","password":"{ROOT[1]}"}}',
}


class KeyedMqAdmin:
    """mqadmin with keys, as conf/tools.yml gives them."""

    def __init__(self, directory: Path, cluster: Cluster, keys: tuple[str, str] | None) -> None:
        self._admin = MqAdmin("5.3.3", directory)
        if keys is not None:
            (directory / "conf" / "tools.yml").write_text(f"accessKey: {keys[0]}\nsecretKey: {keys[1]}\n")
        self._where = ("-n", cluster.address)

    def __call__(self, line: str) -> Ran:
        command, *arguments = line.split()
        return self._admin.run(command, *self._where, *arguments)

    def close(self) -> None:
        self._admin.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = sprocket_cluster(tmp_path_factory.mktemp("guarded"), CONF)
    with needs_tools():
        running.start()
    yield running
    running.kill()


@pytest.fixture(scope="module")
def root(guarded: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedMqAdmin]:
    admin = KeyedMqAdmin(tmp_path_factory.mktemp("mqadmin"), guarded, ROOT)
    yield admin
    admin.close()


@pytest.fixture(scope="module")
def app(guarded: Cluster, root: KeyedMqAdmin) -> tuple[str, str]:
    """A user that may use topics and groups whose names begin with `my-`."""
    where = f"-b {guarded.broker.address}"
    for line in (
        f"createUser {where} -u {APP[0]} -p {APP[1]}",
        f"createAcl {where} -s User:{APP[0]} -r Topic:my-* -a Pub,Sub,Get -d Allow",
        f"createAcl {where} -s User:{APP[0]} -r Group:my-* -a Sub,Get -d Allow",
    ):
        ran = root(line)
        assert "success" in ran.stdout, ran
    return APP


def test_the_twelve_commands_of_mqadmin(guarded: Cluster, root: KeyedMqAdmin) -> None:
    broker = guarded.broker.address
    where = f"-b {broker}"
    for line, printed in (
        (f"createUser {where} -u alice -p alice-secret", f"create user to {broker} success"),
        (f"createUser {where} -u alice -p again", "CODE: 16  DESC: The user is existed"),
        (f"getUser {where} -u alice", r"alice +alice-secret +Normal +enable"),
        (f"updateUser {where} -u alice -t Super", f"update user to {broker} success"),
        (f"updateUser {where} -u alice -s disable", f"update user to {broker} success"),
        (f"listUser {where}", r"alice +alice-secret +Super +disable"),
        (f"listUser {where} -f lic", r"alice"),
        (f"createAcl {where} -s User:alice -r Topic:a,Group:g* -a Pub,Sub -d Allow -i 10.0.0.0/8",
         f"create acl to {broker} success"),
        (f"createAcl {where} -s User:alice -r Topic:a -a Any -d Allow", "The actions can not be Any"),
        (f"createAcl {where} -s User:nobody -r Topic:a -a Pub -d Allow", "The subject of User:nobody is not exist"),
        (f"updateAcl {where} -s User:alice -r Topic:a -a Sub -d Deny", f"update acl to {broker} success"),
        (f"getAcl {where} -s User:alice", r"User:alice +Custom +Topic:a +\[Sub\] +null +Deny"),
        (f"listAcl {where} -s alice", r"Group:g\* +\[Pub, Sub\] +\[10\.0\.0\.0/8\] +Allow"),
        (f"copyUser -f {broker} -t {broker} -u alice", "copy user of alice from .* success"),
        (f"copyAcl -f {broker} -t {broker} -s User:alice", "copy acl of User:alice from .* success"),
        (f"deleteAcl {where} -s User:alice -r Topic:a", f"delete acl to {broker} success"),
        (f"deleteUser {where} -u alice", f"delete user to {broker} success"),
        (f"getAcl {where} -s User:alice", "The subject is not exist"),
    ):  # fmt: skip
        ran = root(line)
        assert re.search(printed, ran.stdout + ran.stderr), (line, ran)


def test_mqadmin_without_a_right(guarded: Cluster, app: tuple[str, str], tmp_path: Path) -> None:
    where = f"-b {guarded.broker.address}"
    for number, (keys, said) in enumerate(
        (
            (None, "username cannot be null"),
            ((ROOT[0], "wrong-secret"), "check signature failed"),
            (("nobody", "x" * 12), "User:nobody is not found"),
            (app, "no permission"),
        )
    ):
        admin = KeyedMqAdmin(tmp_path / str(number), guarded, keys)
        try:
            for line in (f"listUser {where}", f"updateTopic {where} -t other", f"getBrokerConfig {where}"):
                ran = admin(line)
                assert said in ran.stdout + ran.stderr, (line, keys, ran)
        finally:
            admin.close()


def client_works(peer: JavaPeer | GoPeer, guarded: Cluster, keys: tuple[str, str], unique: Unique) -> None:
    topic, group = unique("my-topic"), unique("my-group")
    with peer.producer(unique("p"), guarded.address, acl=keys) as producer:
        producer.send(Outgoing(topic, b"one", keys="k"))
        producer.send_all([Outgoing(topic, b"two")], "async")
        producer.send_all([Outgoing(topic, b"three")], "oneway")
        producer.send_batch([Outgoing(topic, b"four"), Outgoing(topic, b"five")])
        with peer.push_consumer(group, guarded.address, [topic], acl=keys) as consumer:
            consumer.wait_bodies([b"one", b"two", b"three", b"four", b"five"])


def client_is_refused(
    peer: JavaPeer | GoPeer, guarded: Cluster, keys: tuple[str, str] | None, topic: str, unique: Unique
) -> None:
    with peer.producer(unique("p"), guarded.address, acl=keys) as producer:
        with pytest.raises(PeerError):
            producer.send(Outgoing(topic, b"x"))
        with pytest.raises(PeerError):
            producer.send_batch([Outgoing(topic, b"x"), Outgoing(topic, b"y")])


def refusals(app: tuple[str, str]) -> list[tuple[tuple[str, str] | None, str]]:
    wrong, nobody = (app[0], "wrong-secret"), ("nobody", "x" * 12)
    return [(None, "my-topic"), (wrong, "my-topic"), (nobody, "my-topic"), (app, "their-topic")]


def test_java_5_3_3(guarded: Cluster, app: tuple[str, str], java_533: JavaPeer, unique: Unique) -> None:
    client_works(java_533, guarded, app, unique)
    for keys, topic in refusals(app):
        client_is_refused(java_533, guarded, keys, topic, unique)


def test_java_5_3_3_transactions_and_lite_pulls(
    guarded: Cluster, app: tuple[str, str], java_533: JavaPeer, unique: Unique
) -> None:
    topic = unique("my-topic")
    with java_533.producer(unique("my-p"), guarded.address, transactional=True, acl=app) as producer:
        producer.transact(Outgoing(topic, b"committed"), "COMMIT_MESSAGE")
        producer.transact(Outgoing(topic, b"rolled back"), "ROLLBACK_MESSAGE")
    with java_533.push_consumer(unique("my-group"), guarded.address, [topic], acl=app) as consumer:
        assert bodies(consumer.wait(1)) == [b"committed"]
    with java_533.push_consumer(unique("my-group"), guarded.address, [topic], acl=app, orderly=True) as consumer:
        assert bodies(consumer.wait(1)) == [b"committed"]


def test_java_4_9_8(guarded: Cluster, app: tuple[str, str], java_498: JavaPeer, unique: Unique) -> None:
    client_works(java_498, guarded, app, unique)
    for keys, topic in refusals(app):
        client_is_refused(java_498, guarded, keys, topic, unique)


def test_go(guarded: Cluster, app: tuple[str, str], go_peer: GoPeer, unique: Unique) -> None:
    client_works(go_peer, guarded, app, unique)
    for keys, topic in refusals(app):
        client_is_refused(go_peer, guarded, keys, topic, unique)


def test_go_transactions_and_pulls(guarded: Cluster, app: tuple[str, str], go_peer: GoPeer, unique: Unique) -> None:
    """Its v2 has no POP and no call that queries messages: of these `test_accounts_reads` has Java's."""
    topic, group = unique("my-topic"), unique("my-group")
    with go_peer.producer(unique("my-p"), guarded.address, transactional=True, acl=app) as producer:
        sent = producer.transact(Outgoing(topic, b"committed"), "COMMIT_MESSAGE")
        producer.transact(Outgoing(topic, b"rolled back"), "ROLLBACK_MESSAGE")
        with ExitStack() as running:
            strangers = [
                running.enter_context(go_peer.push_consumer(name, guarded.address, [topic], acl=keys))
                for name, keys in readers_without_a_right(app, group)
            ]
            with go_peer.push_consumer(group, guarded.address, [topic], acl=app) as consumer:
                assert bodies(consumer.wait(1)) == [b"committed"]
            assert [stranger.received() for stranger in strangers] == [[]] * len(strangers)
    pull_is_for_whoever_may(go_peer, guarded, app, sent.queue, unique)


def readers_without_a_right(app: tuple[str, str], group: str) -> list[tuple[str, tuple[str, str] | None]]:
    return [(group, None), (group, (app[0], "wrong-secret")), (group, ("nobody", "x" * 12)), ("their-group", app)]


def pull_is_for_whoever_may(peer: GoPeer, guarded: Cluster, app: tuple[str, str], queue: Queue, unique: Unique) -> None:
    group = unique("my-group")
    with peer.pull_consumer(group, guarded.address, [queue.topic], acl=app) as consumer:
        assert consumer.pull(queue, 0)["pullStatus"] == "FOUND"
    for name, keys in readers_without_a_right(app, group):
        with peer.pull_consumer(name, guarded.address, [queue.topic], acl=keys) as consumer:
            with pytest.raises(PeerError):
                consumer.pull(queue, 0)


def test_a_group_without_the_right_reads_nothing(
    guarded: Cluster, app: tuple[str, str], java_533: JavaPeer, unique: Unique
) -> None:
    """A push consumer only logs that it is refused."""
    topic = unique("my-topic")
    with java_533.producer(unique("p"), guarded.address, acl=app) as producer:
        producer.send(Outgoing(topic, b"mine"))
        with java_533.push_consumer(unique("their-group"), guarded.address, [topic], acl=app) as other:
            with java_533.push_consumer(unique("my-group"), guarded.address, [topic], acl=app) as consumer:
                assert bodies(consumer.wait(1)) == [b"mine"]
            assert other.received() == []
