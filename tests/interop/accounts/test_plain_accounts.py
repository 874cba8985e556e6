"""Accounts of RocketMQ 4: the ACL commands of mqadmin 4.9.8 at a broker with `aclEnable`, and what clients then may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.fixtures import Unique
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing
from tests.peers.mqadmin import MqAdmin, Ran
from tests.peers.servers import Cluster
from tests.peers.sprocket import sprocket_cluster
from tests.peers.toolchain import needs_tools

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

ADMIN = ("rootkey", "root-secret-1")
APP = ("appkey1", "app-secret-12")
FILE = f"accounts:\n- accessKey: {ADMIN[0]}\n  secretKey: {ADMIN[1]}\n  admin: true\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "conf").mkdir()
    (folder / "conf" / "plain_acl.yml").write_text(FILE)
    return folder


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Iterator[Cluster]:
    conf = {"aclEnable": "true", "rocketmqHome": str(home)}
    running = sprocket_cluster(tmp_path_factory.mktemp("guarded"), conf)
    with needs_tools():
        running.start()
    yield running
    running.kill()


def mqadmin(folder: Path, keys: tuple[str, str], line: str) -> Ran:
    admin = MqAdmin("4.9.8", folder)
    (folder / "conf" / "tools.yml").write_text(f"accessKey: {keys[0]}\nsecretKey: {keys[1]}\n")
    try:
        command, *arguments = line.split()
        return admin.run(command, *arguments)
    finally:
        admin.close()


def test_the_acl_commands_of_mqadmin(
    guarded: Cluster, home: Path, java_498: JavaPeer, unique: Unique, tmp_path: Path
) -> None:
    where = f"-n {guarded.address} -b {guarded.broker.address}"
    account = f"-a {APP[0]} -s {APP[1]} -t mine=PUB|SUB -g mygroup=SUB -i DENY -u DENY"
    for keys, line, printed in (
        (APP, f"updateAclConfig {where} {account}", "No acl config for appkey1"),
        ((ADMIN[0], "wrong-secret"), f"updateAclConfig {where} {account}", "Check signature failed"),
        (ADMIN, f"updateAclConfig {where} {account}", "create or update plain access config to .* success"),
        (ADMIN, f"clusterAclConfigVersion {where}", guarded.broker.address),
        (ADMIN, f"updateGlobalWhiteAddr {where} -g 10.9.9.9", "update global white remote addresses to .* success"),
        (APP, f"deleteAclConfig {where} -a {ADMIN[0]}", "Need admin permission"),
    ):
        ran = mqadmin(tmp_path, keys, line)
        assert re.search(printed, ran.stdout + ran.stderr), (line, ran)
    assert "10.9.9.9" in (home / "conf" / "plain_acl.yml").read_text()
    with java_498.producer(unique("p"), guarded.address, acl=APP) as producer:
        producer.send(Outgoing("mine", b"x"))
        with pytest.raises(PeerError):
            producer.send(Outgoing("theirs", b"x"))
    ran = mqadmin(tmp_path, ADMIN, f"deleteAclConfig {where} -a {APP[0]}")
    assert "delete plain access config account from" in ran.stdout, ran
    with java_498.producer(unique("p"), guarded.address, acl=APP) as producer, pytest.raises(PeerError):
        producer.send(Outgoing("mine", b"x"))
