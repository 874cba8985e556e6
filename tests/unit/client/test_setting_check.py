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
        (
            PullSettings,
            {"consume_from": "earliest"},
            "PullSettings(consume_from='earliest'): must be one of last, first, or a datetime",
        ),
        (PullSettings, {"consume_from": 0}, "must be one of last, first, or a datetime"),
        (PullSettings, {"allocation": "averagely"}, "must be callable"),
        (ConsumerSettings, {"offsets_path": "offsets.json"}, "must be a Path"),
        (ConsumerSettings, {"concurrency": 0}, "ConsumerSettings(concurrency=0): must be at least 1"),
        (ConsumerSettings, {"max_reconsume_times": -2}, "must be at least -1"),
        (ConsumerSettings, {"limits": 1000}, "must be FlowLimits"),
        (ConsumerSettings, {"stop_timeout": None}, "must be a number"),
        (ProducerSettings, {"send_timeout": float("nan")}, "must be finite"),
        (ProducerSettings, {"send_timeout": "3"}, "must be a number"),
        (ProducerSettings, {"send_timeout": -1}, "must be at least 0"),
        (ProducerSettings, {"retries": 1.5}, "must be a whole number"),
        (ProducerSettings, {"retries": True}, "must be a whole number"),
        (ProducerSettings, {"compression": "gzip"}, "must be one of zlib, lz4, zstd, none"),
        (ProducerSettings, {"avoid_slow_brokers": "no"}, "must be True or False"),
    ],
)
def test_what_no_client_could_use_raises_where_it_is_given(kind: Any, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        kind(**wrong)
    assert said in str(raised.value)


def test_what_a_client_can_use() -> None:
    ProducerSettings(retries=0, send_timeout=0.5, compression="none")
    ConsumerSettings(consume_from=datetime.now(UTC), consume_timeout=900, max_reconsume_times=0)
