"""The controller's settings, with RocketMQ's key names where they have a meaning here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sprocketmq.auth.config import AuthConfig
from sprocketmq.config import setting
from sprocketmq.controller.engines import Member
from sprocketmq.errors import ConfigError
from sprocketmq.remoting.peer import parse_address

_HOME = Path.home() / "controller"


class EngineKind(Enum):
    file = "file"
    etcd = "etcd"


#: Keys of a Java controller that mean nothing here, and why.
MEANINGLESS = {
    "controllerType": "the engine is chosen by controllerEngine",
    "mappedFileSize": "there is no Raft log of its own",
    "isProcessReadEvent": "reads are answered by the leader",
    "controllerThreadPoolNums": "one event loop serves all",
    "controllerRequestThreadPoolQueueCapacity": "one event loop serves all",
    "jRaftServerId": "the engine is chosen by controllerEngine",
    "jRaftInitConf": "the engine is chosen by controllerEngine",
    "jRaftControllerRPCAddr": "the engine is chosen by controllerEngine",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig(AuthConfig):
    listen_port: int = setting(
        "listenPort", 9878, "Port to listen on, when controllerDLegerPeers names none; 0 takes a free one.",
        low=0, high=65535,
    )  # fmt: skip
    metrics_prom_exporter_port: int = setting("metricsPromExporterPort", 5558, "On this port.", low=0, high=65535)
    controller_group: str = setting("controllerDLegerGroup", "sprocket", "Name of the controllers as a whole.")
    peers: str = setting(
        "controllerDLegerPeers", "", "All controllers, as n0-HOST:PORT;n1-HOST:PORT; empty is this one alone."
    )
    self_id: str = setting("controllerDLegerSelfId", "n0", "Which of the peers this controller is.")
    engine: EngineKind = setting("controllerEngine", EngineKind.file, "file: one controller; etcd: several.")
    controller_store_path: Path = setting("controllerStorePath", _HOME, "Where the file engine keeps its state.")
    config_store_path: Path = setting(
        "configStorePath", _HOME / "controller.properties", "Where settings that were changed at run time are kept."
    )
    etcd_endpoints: str = setting(
        "etcdEndpoints", "http://127.0.0.1:2379", "Members of etcd, http or https, joined by `;`."
    )
    etcd_prefix: str = setting("etcdPrefix", "/sprocketmq/controller", "Before every key; one for each group.")
    etcd_lease_seconds: int = setting(
        "etcdLeaseSeconds", 3, "A leader that is silent for so long is replaced.", low=2, high=60
    )
    etcd_user: str = setting("etcdUser", "", "Account at etcd; empty is none.")
    etcd_password_file: str = setting("etcdPasswordFile", "", "A file whose first line is its password.")
    etcd_ca_file: str = setting("etcdCaFile", "", "Who signs etcd's certificates; empty is whom this machine trusts.")
    etcd_cert_file: str = setting("etcdCertFile", "", "Certificate that is shown to etcd.")
    etcd_key_file: str = setting("etcdKeyFile", "", "Its key.")
    scan_not_active_broker_interval: int = setting(
        "scanNotActiveBrokerInterval",
        5000,
        "Milliseconds between looks for silent brokers; one that is due earlier is looked at when it is due.",
        low=10,
        runtime=True,
    )
    scan_inactive_master_interval: int = setting(
        "scanInactiveMasterInterval", 5000, "Milliseconds between looks for sets without a living master.",
        low=10, runtime=True,
    )  # fmt: skip
    elect_master_max_retry_count: int = setting(
        "electMasterMaxRetryCount", 3, "Tries to record an election when the engine fails.", low=1, high=100,
        runtime=True,
    )  # fmt: skip
    enable_elect_unclean_master: bool = setting(
        "enableElectUncleanMaster",
        False,
        "Elect a replica that lacks acknowledged messages when no other lives: THEY ARE LOST.",
        runtime=True,
    )
    notify_broker_role_changed: bool = setting(
        "notifyBrokerRoleChanged", True, "Tell brokers of an election; else they find out when they ask.", runtime=True
    )

    def __post_init__(self) -> None:
        AuthConfig.__post_init__(self)
        members = self.members()
        if self.engine is EngineKind.etcd and not members:
            raise ConfigError("controllerEngine=etcd: controllerDLegerPeers must name the controllers")
        if members and self.self_id not in members:
            raise ConfigError(f"controllerDLegerSelfId={self.self_id!r}: controllerDLegerPeers does not name it")

    def members(self) -> dict[str, Member]:
        """The peers by id, in the order of the setting; ConfigError names what is no peer."""
        found = {}
        for text in filter(None, (each.strip() for each in self.peers.split(";"))):
            member_id, dash, address = text.partition("-")
            try:
                parse_address(address)
            except ValueError:
                dash = ""
            if not dash or not member_id:
                raise ConfigError(f"controllerDLegerPeers={text!r}: expected ID-HOST:PORT")
            found[member_id] = Member(member_id, address)
        return found

    @property
    def port_to_bind(self) -> int:
        """RocketMQ's controllers listen on the port of their own peer entry."""
        own = self.members().get(self.self_id)
        return self.listen_port if own is None else parse_address(own.address)[1]
