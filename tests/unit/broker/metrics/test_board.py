"""What the Grafana board and the alert rules of `deploy/` ask for is what a scrape has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.broker.support import Caller, wants
from tests.unit.broker.transaction.test_handler import COMMIT, ROLLBACK, end, half
from tests.unit.controller.conftest import Caller as ControllerCaller

from sprocketmq.broker.broker import Broker
from sprocketmq.cli.main import main
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.controller.figures import figures as controller_figures
from sprocketmq.controller.server import Controller
from sprocketmq.nameserver.brokers import BrokerRegistration
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.figures import figures
from sprocketmq.nameserver.server import Nameserver

DEPLOY = Path(__file__).parents[4] / "deploy"
BOARD = json.loads((DEPLOY / "grafana" / "sprocketmq.json").read_text())
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"
_SELECTOR = re.compile(r"\b((?:rocketmq|sprocketmq)_\w+)(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)=~?\"")
_GROUPED = re.compile(r"\bby \(([^)]*)\)")


def expressions() -> list[str]:
    board = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]
    asked = [variable["query"] for variable in BOARD["templating"]["list"] if variable["type"] == "query"]
    return board + asked + [rule["expr"] for rule in rules()]


async def scraped(broker: Broker, caller: Caller, folder: Path) -> dict[str, set[str]]:
    """The labels of every name, when a bit of everything has happened."""
    await caller.heartbeat("G", "c1", wants(), producers=("P",))
    await caller.send()
    await caller.pull(count=1)
    await caller.pull(sys_flag=5, commit=1, offset=1)
    await end(caller, await half(caller), COMMIT)
    await end(caller, await half(caller), ROLLBACK)
    await half(caller)
    special = broker.stats.special
    special.rested("T", 1)
    special.revive_retries["T", "G", "PUT_OK"] += 1
    broker.stats.buried("G", "T")
    broker.kinds.timer.resting.add("T", 1)
    nameserver = Nameserver(NameserverConfig(listen_port=0))
    nameserver.routes.register(
        BrokerRegistration(cluster="C", name="broker-a", broker_id=0, address="127.0.0.1:1", ha_address="127.0.0.1:2")
    )
    text = broker.metrics.text() + figures(nameserver.routes, nameserver._server) + await of_a_controller(folder)
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


async def of_a_controller(folder: Path) -> str:
    config = ControllerConfig(
        bind_address="127.0.0.1", listen_port=0, metrics_prom_exporter_port=0, controller_store_path=folder
    )
    controller = Controller(config, FileEngine(folder / "controller.json"))
    await controller.start()
    broker = ControllerCaller(controller)
    await broker.join(1)
    await broker.elect(1)
    text = controller_figures(controller)
    await broker.client.close()
    await controller.stop()
    return text


async def test_every_expression_finds_names_and_labels(broker: Broker, caller: Caller, tmp_path: Path) -> None:
    found = await scraped(broker, caller, tmp_path)
    for expression in expressions():
        for name, selector in _SELECTOR.findall(expression):
            assert name in found, expression
            assert set(_LABEL.findall(selector)) <= found[name], expression
        grouped = {label.strip() for labels in _GROUPED.findall(expression) for label in labels.split(",")}
        names = [name for name, _ in _SELECTOR.findall(expression)]
        assert all(grouped <= found[name] for name in names), expression


async def test_every_name_is_on_the_page(broker: Broker, caller: Caller, tmp_path: Path) -> None:
    page = (DEPLOY.parent / "docs" / "metrics.md").read_text()
    listed = set(re.findall(r"`((?:rocketmq|sprocketmq)_\w+)`", page))
    listed |= {name + unit for name, unit in re.findall(r"`(\w+)` \(`(_\w+)`\)", page)}
    found = {re.sub("_(bucket|sum|count)$", "", name) for name in await scraped(broker, caller, tmp_path)}
    sources = (path.read_text() for path in (DEPLOY.parent / "src" / "sprocketmq").rglob("*.py"))
    written = {name for text in sources for name in re.findall(r'\bMetric\(\s*"(\w+)"', text)}
    assert (found | written) - listed == set()
    own = {name for name in listed if name.startswith("sprocketmq_")}
    assert own - found - written == set(), "and nothing else"


def test_every_counter_is_named_as_one() -> None:
    """Prometheus' own reader adds what is missing, so that a scrape does not show it."""
    sources = [path.read_text() for path in (DEPLOY.parent / "src" / "sprocketmq").rglob("*.py")]
    counters = [name for text in sources for name in re.findall(r'\bMetric\(\s*"(\w+)", COUNTER', text)]
    assert counters
    assert [name for name in counters if not name.endswith("_total")] == []


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool")
def test_prometheus_understands_them(tmp_path: Path) -> None:
    subprocess.run(["promtool", "check", "rules", ALERTS], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["promtool", "check", "config", DEPLOY / "prometheus" / "prometheus.yaml"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    board = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]
    plain = [re.sub(r"\$__(rate_interval|range)", "5m", expression) for expression in board]
    rules = [{"record": f"board:{at}", "expr": expression} for at, expression in enumerate(plain)]
    path = tmp_path / "board.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", path], check=True, stdout=subprocess.DEVNULL)


def rules() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]
    ]
    return found


async def test_alerts_speak_of_labels_that_they_have(broker: Broker, caller: Caller, tmp_path: Path) -> None:
    found = await scraped(broker, caller, tmp_path)
    found["up"] = {"instance", "job"}
    for rule in rules():
        said = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        grouped = [labels.split(", ") for labels in _GROUPED.findall(rule["expr"])]
        names = re.findall(r"\b(?:up|(?:rocketmq|sprocketmq)_\w+)", rule["expr"])
        assert said <= (set(grouped[0]) if grouped else set.union(*(found[name] for name in names))), rule["alert"]


def test_alerts_speak_of_commands_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Command, "invoke", lambda *_: None)
    for line in re.findall(r"`(sprocket [^`]*)`", ALERTS.read_text()):
        words = re.sub(r"\{\{.*?\}\}", "NAME", line).split()[1:]
        assert main.main(words, standalone_mode=False) in (None, 0)


#: A counter that grows, and one that came with a figure ten minutes ago.
_COUNTED = "0+1x120 | _x76 3x44"
#: Of each alert: figures under which it fires, every 15 seconds, and such under which it does not.
FIRES = {
    "BrokerDown": ('up{job="sprocketmq"}', "0x120", "1x120"),
    "NoMaster": ('sprocketmq_nameserver_masters{cluster="C"}', "0x120", "1x120"),
    "NoBroker": ("sprocketmq_nameserver_brokers", "_x120", "0x120"),
    "SetWithoutMaster": ('sprocketmq_controller_has_master{broker_set="a"}', "0x120", "1x120"),
    "ReplicaNotInStep": ('sprocketmq_controller_in_sync_replicas{broker_set="a"}', "2x120", "3x120"),
    "QueuesHeld": ("sprocketmq_held_queues", "1x120", "0x120"),
    "NotWritable": ("rocketmq_broker_permission", "4x120", "6x120"),
    "LagGrows": ('rocketmq_consumer_lag_messages{is_system="false"}', "20000+10x120", "20000-10x120"),
    "OldestMessageWaits": (
        'rocketmq_consumer_lag_latency{is_system="false",is_retry="false"}', "600001x120", "599999x120",
    ),
    "DeadLetters": ("rocketmq_send_to_dlq_messages_total", _COUNTED, "7x120"),
    "ErrorsLogged": ('sprocketmq_errors_total{node_id="n",log="l"}', _COUNTED, "7x120 | 0x120"),
    "FlushBehind": ("rocketmq_storage_flush_behind_bytes", "300000000x120", "1000000x120"),
    "DispatchBehind": ("rocketmq_storage_dispatch_behind_bytes", "70000000x120", "1000000x120"),
    "LoopLag": ("sprocketmq_loop_lag_seconds", "0.6x120", "0.1x120"),
    "TransactionsOpen": ("rocketmq_half_messages", "1001x120", "1000x120"),
}  # fmt: skip
_REPLICAS = {"series": 'sprocketmq_controller_replicas{broker_set="a"}', "values": "3x120"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool")
def test_every_alert_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    assert FIRES.keys() == {rule["alert"] for rule in rules()}
    tests = []
    for alert, (series, bad, good) in FIRES.items():
        firing = [{"labels": "{}", "value": 1}]
        cases = [(values, firing) for values in bad.split(" | ")] + [(values, []) for values in good.split(" | ")]
        for values, samples in cases:
            counted = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
            expected = {"expr": counted, "eval_time": "29m", "exp_samples": samples}
            given = [{"series": series, "values": values}, _REPLICAS]
            tests.append({"interval": "15s", "input_series": given, "promql_expr_test": [expected]})
    path = tmp_path / "alerts.test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "evaluation_interval": "15s", "tests": tests}))
    ran = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
