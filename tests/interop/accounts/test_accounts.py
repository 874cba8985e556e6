"""A broker with accounts and the real mqadmin, with right, wrong, missing and insufficient keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
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


#: By what mqadmin does: a command, and what it prints for who may.
DOES = {
    "send": ("sendMessage -t my-topic -b broker-a -i 0 -k key-1 -p hello", r"SEND_OK"),
    "pull": ("consumeMessage -t my-topic -g my-group", r"hello|MsgId"),
    "query by key": ("queryMsgByKey -t my-topic -k key-1", r"#Message ID"),
    "query by offset": ("queryMsgByOffset -t my-topic -b broker-a -i 0 -o 0", r"OffsetID"),
    "accounts": ("listUser -b {broker}", r"#UserName"),
    "topics": ("updateTopic -b {broker} -t my-other", r"create topic to .* success"),
    "configuration": ("getBrokerConfig -b {broker}", r"brokerName"),
}


def test_mqadmin_does_what_its_keys_may(
    guarded: Cluster, root: KeyedMqAdmin, app: tuple[str, str], tmp_path: Path
) -> None:
    """Each command with the keys of a super user, of one who may send and read, with wrong ones, and with none."""
    assert "success" in root(f"updateTopic -b {guarded.broker.address} -t my-topic").stdout
    of_clients = {"send", "pull", "query by key"}  # by offset it reads as TOOLS_CONSUMER, which is no group of `app`
    for keys, may, said in (
        (ROOT, set(DOES), ""),
        (app, of_clients, "no permission"),
        (None, set(), "username cannot be null"),
        ((ROOT[0], "wrong-secret"), set(), "check signature failed"),
        (("nobody", "x" * 12), set(), "User:nobody is not found"),
    ):
        admin = root if keys == ROOT else KeyedMqAdmin(tmp_path / f"{keys}", guarded, keys)
        for what, (line, printed) in DOES.items():
            ran = admin(line.format(broker=guarded.broker.address))
            text = ran.stdout + ran.stderr
            hidden = "no message" if what == "query by key" else said  # of that the client does not tell why
            assert re.search(printed if what in may else hidden, text), (what, keys, ran)
            assert what in may or not re.search(printed, text), (what, keys, ran)
        if admin is not root:
            admin.close()
