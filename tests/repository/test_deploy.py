"""The files of `deploy/` say what the commands understand. Where an engine is missing, its files are linted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.cli.main import COMMANDS
from sprocketmq.config import settings_of
from sprocketmq.controller.config import ControllerConfig
from sprocketmq.metrics import probe
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.properties_file import parse_properties
from sprocketmq.store.config import StoreConfig

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
TABLES: dict[str, tuple[type, ...]] = {
    "broker": (BrokerConfig, StoreConfig),
    "nameserver": (NameserverConfig,),
    "controller": (ControllerConfig,),
}
KUBERNETES = "1.33"
PORTS = {
    name: {"remoting": config.listen_port, "metrics": config.metrics_prom_exporter_port}
    for name, config in (
        ("broker", BrokerConfig()), ("nameserver", NameserverConfig()), ("controller", ControllerConfig()),
    )
}  # fmt: skip
PORTS["broker"]["replication"] = PORTS["broker"]["remoting"] + 1


def manifests() -> Iterator[dict[str, Any]]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


def compose_commands() -> Iterator[tuple[str, list[str]]]:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    yield from ((name, service["command"]) for name, service in services.items() if name != "etcd")


def kubernetes_commands() -> Iterator[tuple[str, list[str]]]:
    for manifest in manifests():
        if manifest["kind"] == "StatefulSet":
            for container in manifest["spec"]["template"]["spec"]["containers"]:
                yield container["name"], container["args"]


@pytest.mark.parametrize(("name", "command"), [*compose_commands(), *kubernetes_commands()])
def test_every_command_and_key_is_known(name: str, command: list[str]) -> None:
    assert command[0] in COMMANDS
    known = {key for table in TABLES.get(command[0], ()) for key in settings_of(table)}
    keys = {option.split("=")[1] for option in command if option.startswith("--set=")}
    assert command[0] not in TABLES or keys <= known


@pytest.mark.parametrize("manifest", [*manifests()], ids=lambda found: f"{found['kind']}-{found['metadata']['name']}")
def test_manifests_fit_the_schemas(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_probes_ask_ports_that_are_there() -> None:
    for manifest in manifests():
        if manifest["kind"] != "StatefulSet":
            continue
        for container in manifest["spec"]["template"]["spec"]["containers"]:
            ports = {port["name"] for port in container["ports"]}
            probes = {name: each["httpGet"] for name, each in container.items() if name.endswith("Probe")}
            assert {asked["port"] for asked in probes.values()} <= ports
            assert probes.keys() >= {"livenessProbe", "readinessProbe"}
            for name, asked in probes.items():
                assert asked["path"] == ("/ready" if name == "readinessProbe" else "/health")


def test_a_broker_has_time_to_recover() -> None:
    """As much under systemd, whose default is a minute and a half, as a startup probe gives it."""
    unit = (DEPLOY / "systemd" / "sprocketmq-broker.service").read_text()
    found = re.search(r"^TimeoutStartSec=(\d+)min$", unit, re.M)
    assert found is not None
    (broker,) = (each for each in manifests() if each["kind"] == "StatefulSet" and each["metadata"]["name"] == "broker")
    probe_ = broker["spec"]["template"]["spec"]["containers"][0]["startupProbe"]
    assert int(found[1]) * 60 == probe_["periodSeconds"] * probe_["failureThreshold"] >= 600


def test_what_runs_more_than_once_is_not_drained_at_once() -> None:
    every = list(manifests())
    several = {
        each["metadata"]["name"] for each in every if each["kind"] == "StatefulSet" and each["spec"]["replicas"] > 1
    }
    assert {each["metadata"]["name"] for each in every if each["kind"] == "PodDisruptionBudget"} == several


def test_ports_are_those_on_which_servers_listen() -> None:
    """In the containers, the services before them, the image, its health check and what Prometheus asks."""
    for manifest in manifests():
        ports = PORTS.get(manifest["metadata"]["name"], {})
        if manifest["kind"] == "StatefulSet":
            (container,) = manifest["spec"]["template"]["spec"]["containers"]
            assert {port["name"]: port["containerPort"] for port in container["ports"]} == ports
        if manifest["kind"] == "Service":
            assert {port["name"]: port["port"] for port in manifest["spec"]["ports"]}.items() <= ports.items()
    exposed = re.search(r"^EXPOSE (.*)$", (DEPLOY / "docker" / "Dockerfile").read_text(), re.M)
    assert exposed is not None
    assert {str(port) for ports in PORTS.values() for port in ports.values()} <= set(exposed[1].split())
    pages = sorted(ports["metrics"] for ports in PORTS.values())
    assert sorted(map(int, probe.PORTS.split())) == pages
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())["scrape_configs"][0]
    assert scraped["static_configs"][0]["targets"] == [f"127.0.0.1:{port}" for port in pages]


def test_the_dockerfile_is_linted() -> None:
    program = Path(sys.executable).with_name("hadolint")
    subprocess.run([program, DEPLOY / "docker" / "Dockerfile"], check=True)


def test_the_image_gets_what_it_builds_from() -> None:
    ignore = (ROOT / ".dockerignore").read_text().split()
    assert {"!src", "!pyproject.toml", "!setup.py", "!README.md", "!LICENSE", "!requirements.lock"} <= set(ignore)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_units_run_commands_with_files_that_are_here(unit: Path) -> None:
    found = re.search(
        r"^ExecStart=/opt/sprocketmq/bin/sprocket (\w+) --config /etc/sprocketmq/(\S+)$", unit.read_text(), re.M
    )
    assert found is not None
    command, name = found[1], found[2]
    assert command in COMMANDS
    entries = parse_properties((DEPLOY / "systemd" / name).read_text())
    known = {key for table in TABLES.get(command, ()) for key in settings_of(table)}
    assert command not in TABLES or entries.keys() <= known


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_units_are_sound_and_hardened(unit: Path, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("sprocket")
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/sprocketmq/bin/sprocket", str(program)))
    verified = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", str(copy)]
    subprocess.run(judged, check=True, stdout=subprocess.DEVNULL)
