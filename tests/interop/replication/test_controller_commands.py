"""mqadmin's commands for a controller and its brokers, against ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.peers.broker_set import NAME, BrokerSet
from tests.peers.controllers import SprocketController
from tests.peers.fixtures import RunMqAdmin
from tests.peers.toolchain import needs_tools

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SET = f"-bn {NAME} -c DefaultCluster"


def test_every_command_for_controllers(tmp_path: Path, mqadmin: RunMqAdmin) -> None:
    with needs_tools(), BrokerSet(tmp_path, SprocketController(tmp_path / "controller"), ["sprocket"] * 2) as brokers:
        controller, nameserver = brokers.controller.address, brokers.nameserver.address
        first, second = (broker.address for broker in brokers.brokers)

        def tells(command: str, *wanted: str) -> None:
            name, *options = command.split()
            ran = mqadmin("5.3.3", name, *options)
            for each in wanted:
                assert re.search(each, ran.stdout + ran.stderr, re.DOTALL), (command, each, ran)

        at = f"-a {controller}"
        tells(f"getControllerMetaData {at}", rf"#ControllerLeaderAddress\t{controller}\n", rf"#Peer:\tn0:{controller}")
        both = [rf"InSyncReplica:\t[^\n]*brokerId={number}, [^\n]*alive=true" for number in (1, 2)]
        tells(f"getSyncStateSet {at} -b {NAME}", rf"#MasterAddr\t{first}\n.*#SyncStateSetNums\t2\n", *both)
        tells(f"getSyncStateSet {at} -n {nameserver} -c DefaultCluster", rf"#brokerName\t{NAME}\n", *both)
        tells(
            f"getBrokerEpoch -n {nameserver} -b {NAME}", rf"#brokerAddr\t{first}\n#brokerId\t0\n#Epoch: [^\n]*epoch=1,"
        )
        tells(f"haStatus -n {nameserver} -b {first}", r"#InSyncSlaveNum\t1\n.* OK ")
        tells(f"haStatus -n {nameserver} -b {second}", r"#MasterAddr\t127\.0\.0\.1:\d+\n#CommitLogMaxOffset\t\d")
        tells(f"updateControllerConfig {at} -k scanNotActiveBrokerInterval -v 4000", "update controller config success")
        tells(f"getControllerConfig {at}", r"scanNotActiveBrokerInterval += +4000\n")
        tells(f"electMaster {at} -b 2 {SET}", rf"#BrokerMasterAddr\t{second}\n#MasterEpoch\t2\n")
        brokers.wait_whole()
        tells(f"getSyncStateSet {at} -b {NAME}", rf"#MasterAddr\t{second}\n#MasterEpoch\t2\n", *both)
        tells(f"cleanBrokerMetadata {at} -b 1 {SET}", "CODE: 2009 .*still alive")
        brokers.brokers[0].kill()
        brokers.wait_whole(1)
        tells(f"cleanBrokerMetadata {at} -b 1 {SET}", f"clear broker {NAME} metadata from controller success")
        tells(f"getSyncStateSet {at} -b {NAME}", r"#SyncStateSetNums\t1\n")
