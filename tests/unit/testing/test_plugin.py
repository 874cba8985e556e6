"""What the pytest plugin costs a run that does not use it, and what it offers one that does."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sprocketmq import ClientError, Message
from sprocketmq.client.sync import Producer, PullConsumer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.testing import EmbeddedCluster


def test_a_run_that_does_not_use_it_imports_nothing_of_ours() -> None:
    code = "import sys, sprocketmq.testing.plugin; print(*[name for name in sys.modules if 'sprocketmq' in name])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= {
        "sprocketmq", "sprocketmq.hot", "sprocketmq.hot.loader", "sprocketmq.testing", "sprocketmq.testing.plugin"
    }  # fmt: skip


def test_producer_and_consumer(
    rocketmq_producer: Producer, rocketmq_consumer: PullConsumer, rocketmq_topic: str
) -> None:
    rocketmq_producer.send(Message(rocketmq_topic, b"one apple"))
    assert [message.body for message in rocketmq_consumer.poll(timeout=60)] == [b"one apple"]


def broker_config(cluster: EmbeddedCluster) -> dict[str, str]:
    with AdminClient(cluster.nameserver) as admin:
        return dict(admin.brokers.config(cluster.broker_name))


def test_without_a_marker_the_broker_is_as_it_comes(rocketmq: EmbeddedCluster) -> None:
    assert broker_config(rocketmq)["autoCreateTopicEnable"] == "true"


@pytest.mark.rocketmq(autoCreateTopicEnable=False, defaultTopicQueueNums=3)
def test_a_marker_sets_the_broker_up(
    rocketmq: EmbeddedCluster, rocketmq_producer: Producer, rocketmq_topic: str
) -> None:
    config = broker_config(rocketmq)
    assert (config["autoCreateTopicEnable"], config["defaultTopicQueueNums"]) == ("false", "3")
    with pytest.raises(ClientError):
        rocketmq_producer.send(Message(rocketmq_topic, b"x"))


def test_clear_leaves_nothing() -> None:
    with EmbeddedCluster() as cluster, Producer("clear-group", cluster.nameserver) as producer:
        queue = producer.send(Message("clear-me", b"old")).queue
        with PullConsumer("clear-group", cluster.nameserver) as consumer:
            consumer.assign([queue])
            consumer.commit({queue: 1})
        cluster.clear()
        with AdminClient(cluster.nameserver) as admin:
            assert "clear-me" not in admin.topics.names()
            assert "clear-group" not in admin.groups.names()
        receipt = producer.send(Message("clear-me", b"new"))
        assert receipt.queue_offset == 0
        with PullConsumer("clear-group", cluster.nameserver) as consumer:
            assert consumer.committed(receipt.queue) in (None, 0)  # brokers say 0 of a young queue
