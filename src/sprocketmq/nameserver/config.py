"""The nameserver's settings, with RocketMQ's key names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sprocketmq.auth.config import AuthConfig
from sprocketmq.config import setting

_HOME = Path.home() / "namesrv"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameserverConfig(AuthConfig):
    listen_port: int = setting("listenPort", 9876, "Port to listen on; 0 takes a free one.", low=0, high=65535)
    metrics_prom_exporter_port: int = setting("metricsPromExporterPort", 5556, "On this port.", low=0, high=65535)
    kv_config_path: Path = setting("kvConfigPath", _HOME / "kvConfig.json", "Where the key-value table is kept.")
    config_store_path: Path = setting(
        "configStorePath", _HOME / "namesrv.properties", "Where settings that were changed at run time are kept."
    )
    scan_not_active_broker_interval: int = setting(
        "scanNotActiveBrokerInterval", 5000, "Milliseconds between looks for silent brokers.", low=10, runtime=True
    )
    order_message_enable: bool = setting(
        "orderMessageEnable", False, "Put the order configuration of a topic into its route.", runtime=True
    )
    return_order_topic_config_to_broker: bool = setting(
        "returnOrderTopicConfigToBroker", True, "Answer registrations with the order configuration.", runtime=True
    )
    support_acting_master: bool = setting(
        "supportActingMaster",
        False,
        "Routes show the first slave of a lost master as a read-only master.",
        runtime=True,
    )
    notify_min_broker_id_changed: bool = setting(
        "notifyMinBrokerIdChanged",
        False,
        "Tell the brokers of a group when its lowest broker id changes.",
        runtime=True,
    )
    enable_all_topic_list: bool = setting("enableAllTopicList", True, "Answer the list of all topics.", runtime=True)
    enable_topic_list: bool = setting("enableTopicList", True, "Answer the other topic lists.", runtime=True)
    delete_topic_with_broker_registration: bool = setting(
        "deleteTopicWithBrokerRegistration", False, "A registration also removes topics that it lacks.", runtime=True
    )
