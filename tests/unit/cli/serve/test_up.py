from __future__ import annotations

from pathlib import Path

import pytest

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.cli.serve.up import BrokerPlan, BrokerProcesses, plan_brokers, plan_replicas
from sprocketmq.config import from_properties, unknown_keys
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.errors import ConfigError
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.store.config import StoreConfig


def plan(count: int, host: str = "127.0.0.1", **more: str) -> list[BrokerPlan]:
    return plan_brokers(Path("/data"), count, host, 10911, "127.0.0.1:9876", more)


def test_brokers_have_names_directories_and_ports_of_their_own() -> None:
    plans = plan(3)
    assert [each.name for each in plans] == ["broker-a", "broker-b", "broker-c"]
    assert [each.entries["listenPort"] for each in plans] == ["10911", "10921", "10931"]
    assert [each.entries["storePathRootDir"] for each in plans] == [f"/data/{each.name}" for each in plans]


def test_replicas_have_one_name_and_a_controller() -> None:
    plans = plan_replicas(Path("/data"), 3, "127.0.0.1", 10911, "127.0.0.1:9876", "127.0.0.1:9878", {})
    configs = [from_properties(BrokerConfig, each.entries) for each in plans]
    assert {config.broker_name for config in configs} == {"broker-a"}
    assert all(config.enable_controller_mode and config.controllers == ("127.0.0.1:9878",) for config in configs)
    assert [each.entries["listenPort"] for each in plans] == ["10911", "10921", "10931"]
    assert len({each.entries["storePathRootDir"] for each in plans}) == 3


def test_pages_of_metrics_do_not_take_one_another_s_ports() -> None:
    plans = plan_replicas(Path("/data"), 9, "127.0.0.1", 10911, "127.0.0.1:9876", "127.0.0.1:9878", {})
    brokers = [from_properties(BrokerConfig, each.entries).metrics_prom_exporter_port for each in plans]
    others = [config().metrics_prom_exporter_port for config in (NameserverConfig, ControllerConfig)]
    assert brokers[0] == BrokerConfig().metrics_prom_exporter_port
    assert len({*brokers, *others}) == len(brokers) + len(others)


def test_any_port_for_one_is_any_port_for_all() -> None:
    plans = plan_brokers(Path("/data"), 3, "127.0.0.1", 0, "127.0.0.1:9876", {})
    assert {(each.entries["listenPort"], each.entries["haListenPort"]) for each in plans} == {("0", "0")}


def test_a_plan_is_a_whole_configuration() -> None:
    (only,) = plan(1, flushDiskType="SYNC_FLUSH")
    assert unknown_keys(only.entries, BrokerConfig, StoreConfig) == []
    config = from_properties(BrokerConfig, only.entries)
    assert config.nameservers == ("127.0.0.1:9876",)
    assert config.broker_ip1 == "127.0.0.1"
    assert StoreConfig.from_properties(only.entries).sync_flush


def test_a_server_for_others_does_not_call_itself_loopback() -> None:
    assert "brokerIP1" not in plan(1, host="0.0.0.0")[0].entries


def test_the_command_of_a_process_holds_the_entries() -> None:
    argv = plan(2)[1].argv
    assert argv[1:4] == ("-m", "sprocketmq", "broker")
    assert "brokerName=broker-b" in argv


def test_more_brokers_than_letters() -> None:
    with pytest.raises(ConfigError, match="--brokers 27"):
        plan(27)


def test_what_a_file_says_is_not_shown_in_a_list_of_processes(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("tls.server.keyPassword=a-secret\nflushDiskType=SYNC_FLUSH\n")
    entries = {"tls.server.keyPassword": "a-secret", "flushDiskType": "ASYNC_FLUSH"}
    argv = BrokerPlan("broker-a", entries, file).argv
    assert "a-secret" not in " ".join(argv)
    assert argv[argv.index("--config") + 1] == str(file)
    assert "flushDiskType=ASYNC_FLUSH" in argv, "an option wins over the file"


class FakeService:
    def __init__(self, plan: BrokerPlan) -> None:
        self.name, self.address = plan.name, "127.0.0.1:1"
        self.history: list[str] = []

    async def start(self) -> None:
        self.history.append("start")

    async def stop(self) -> None:
        self.history.append("stop")


async def test_one_broker_runs_in_this_process() -> None:
    embedded: list[FakeService] = []

    def embed(plan: BrokerPlan) -> FakeService:
        embedded.append(FakeService(plan))
        return embedded[-1]

    brokers = BrokerProcesses(lambda: plan(1), embed)
    await brokers.stop()
    await brokers.start()
    assert (brokers.name, brokers.address) == ("broker-a", "127.0.0.1:1")
    await brokers.stop()
    assert embedded[0].history == ["start", "stop"]
