"""How far groups are behind, asked of a cluster as its other clients do."""

from __future__ import annotations

import pytest

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.protocol.names import with_namespace
from sprocketmq.spark.pipeline.inputs import Input
from sprocketmq.spark.pipeline.lag import lag_rows
from sprocketmq.testing import EmbeddedCluster


@pytest.mark.parametrize("namespace", ["", "eu"])
def test_of_a_cluster_with_several_nameservers_and_a_namespace(namespace: str) -> None:
    with EmbeddedCluster() as cluster:
        topic, group = (with_namespace(namespace, name) for name in ("orders", "billing"))
        with AdminClient(cluster.nameserver) as admin, Producer("shop", cluster.nameserver) as producer:
            admin.topics.create(topic, queues=1)
            for _ in range(3):
                producer.send(Message(topic, b"one"))
            admin.groups.create(SubscriptionGroupConfig(group_name=group))
            admin.offsets.reset(group, topic, 1)
        source = Input(f"127.0.0.1:1;{cluster.nameserver}", topics=("orders",), options={"namespace": namespace})
        rows = lag_rows(source, ("billing",))
    assert rows == [{"group": "billing", "topic": "orders", "committed": 1, "end": 3, "lag": 2}]
