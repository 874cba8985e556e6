"""What the pytest plugin costs a run that does not use it, and what it offers one that does."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sprocketmq import ClientError, Message
from sprocketmq.client.sync import Producer, PullConsumer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.testing import EmbeddedCluster, FaultyCluster


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


def test_a_killed_broker_comes_back_with_what_it_had(rocketmq_faults: FaultyCluster, rocketmq_topic: str) -> None:
    with Producer("g", rocketmq_faults.nameserver) as producer:
        first = producer.send(Message(rocketmq_topic, b"before"))
        for end in (rocketmq_faults.kill_broker, rocketmq_faults.stop_broker):
            end()
            with pytest.raises(ClientError):
                producer.send(Message(rocketmq_topic, b"lost"), queue=first.queue, timeout=0.5)
            rocketmq_faults.start_broker()
        producer.send(Message(rocketmq_topic, b"after"), timeout=60)
        with PullConsumer("g", rocketmq_faults.nameserver) as consumer:
            assert consumer.begin_offset(first.queue) == 0
            assert consumer.end_offset(first.queue) >= 1


def test_a_paused_broker_answers_nobody(rocketmq_faults: FaultyCluster, rocketmq_topic: str) -> None:
    with Producer("g", rocketmq_faults.nameserver) as producer:
        producer.send(Message(rocketmq_topic, b"before"))
        rocketmq_faults.pause_broker()
        with pytest.raises(ClientError):
            producer.send(Message(rocketmq_topic, b"lost"), timeout=0.5)
        rocketmq_faults.heal()
        assert producer.send(Message(rocketmq_topic, b"after"), timeout=60).ok


@pytest.mark.rocketmq(flushDiskType="SYNC_FLUSH")
def test_a_slow_disk(rocketmq_faults: FaultyCluster, rocketmq_topic: str) -> None:
    with Producer("g", rocketmq_faults.nameserver) as producer:
        producer.send(Message(rocketmq_topic, b"before"), timeout=60)
        rocketmq_faults.slow_disk(0.5)
        began = time.monotonic()
        producer.send(Message(rocketmq_topic, b"slow"), timeout=60)
        assert time.monotonic() - began >= 0.5


WRONG = """
import pytest

@pytest.mark.rocketmq({})
def test_it(rocketmq): pass
"""


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("flushDiskTyp='SYNC_FLUSH'", "flushDiskTyp is no key of a broker.conf: did you mean flushDiskType?"),
        ("'SYNC_FLUSH'", "rocketmq takes entries of broker.conf by name"),
    ],
)
def test_a_marker_that_means_nothing_is_an_error(tmp_path: Path, marker: str, said: str) -> None:
    (tmp_path / "test_it.py").write_text(WRONG.format(marker))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
