"""Registrations for tests."""

from __future__ import annotations

from typing import Any

from sprocketmq.nameserver.brokers import BrokerRegistration
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.mapping import TopicConfigAndMappingSerializeWrapper
from sprocketmq.protocol.bodies.route import TopicQueueMappingInfo
from sprocketmq.protocol.bodies.topic import TopicConfig

SYSTEM = ("TBW102", "SELF_TEST_TOPIC")


def topics(*names: str, counter: int = 1, state: int = 0, **options: Any) -> TopicConfigAndMappingSerializeWrapper:
    """A broker's table: the system topics and `names`, each with `options`."""
    return TopicConfigAndMappingSerializeWrapper(
        data_version=DataVersion(timestamp=1, counter=counter, state_version=state),
        topic_config_table={
            name: TopicConfig(topic_name=name, **{"read_queue_nums": 4, "write_queue_nums": 4, **options})
            for name in (*SYSTEM, *names)
        },
    )


def only(name: str, counter: int = 2) -> TopicConfigAndMappingSerializeWrapper:
    """An increment: one topic alone."""
    whole = topics(name, counter=counter)
    return TopicConfigAndMappingSerializeWrapper(
        data_version=whole.data_version, topic_config_table={name: whole.topic_config_table[name]}
    )


def static(name: str, broker: str) -> TopicConfigAndMappingSerializeWrapper:
    whole = topics(name)
    mapping = TopicQueueMappingInfo(topic=name, bname=broker, total_queues=8, curr_id_map={0: 0})
    return TopicConfigAndMappingSerializeWrapper(
        data_version=whole.data_version,
        topic_config_table=whole.topic_config_table,
        topic_queue_mapping_info_map={name: mapping},
    )


def registration(
    name: str = "broker-a", broker_id: int = 0, cluster: str = "DefaultCluster", **changes: Any
) -> BrokerRegistration:
    fields: dict[str, Any] = {
        "address": f"10.0.0.{broker_id + 1}:10911" if name == "broker-a" else f"10.0.1.{broker_id + 1}:10911",
        "ha_address": f"10.0.0.{broker_id + 1}:10912",
        "topics": topics("orders"),
        **changes,
    }
    return BrokerRegistration(cluster=cluster, name=name, broker_id=broker_id, **fields)
