"""What of the pytest plugin takes processes of its own: a broker that fails when a test says so, and wrong markers."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sprocketmq import ClientError, Message
from sprocketmq.client.sync import Producer, PullConsumer
from sprocketmq.testing import FaultyCluster


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
