from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sprocketmq.client.settings import Batching, ConsumerSettings, FlowLimits, ProducerSettings, PullSettings


@pytest.mark.parametrize("kind", [Batching, ConsumerSettings, FlowLimits, ProducerSettings, PullSettings])
def test_defaults_are_fine(kind: Any) -> None:
    kind()


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        (PullSettings, {"consume_from": "earliest"}, "PullSettings(consume_from='earliest'): it is one of last, first"),
        (ConsumerSettings, {"concurrency": 0}, "ConsumerSettings(concurrency=0): it is at least 1"),
        (ConsumerSettings, {"max_reconsume_times": -2}, "it is at least -1"),
        (ConsumerSettings, {"limits": 1000}, "it is FlowLimits"),
        (ConsumerSettings, {"stop_timeout": None}, "it is a number"),
        (ProducerSettings, {"send_timeout": float("nan")}, "it is a number that has an end"),
        (ProducerSettings, {"send_timeout": "3"}, "it is a number"),
        (ProducerSettings, {"send_timeout": -1}, "it is at least 0"),
        (ProducerSettings, {"retries": 1.5}, "it is a whole number"),
        (ProducerSettings, {"retries": True}, "it is a whole number"),
        (ProducerSettings, {"compression": "gzip"}, "it is one of zlib, lz4, zstd, none"),
        (ProducerSettings, {"avoid_slow_brokers": "no"}, "it is True or False"),
    ],
)
def test_what_no_client_could_use_raises_where_it_is_given(kind: Any, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        kind(**wrong)
    assert said in str(raised.value)


def test_what_a_client_can_use() -> None:
    ProducerSettings(retries=0, send_timeout=0.5, compression="none")
    ConsumerSettings(consume_from=datetime.now(UTC), consume_timeout=900, max_reconsume_times=0)
