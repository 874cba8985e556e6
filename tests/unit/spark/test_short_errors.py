"""What Spark shows of our errors: it prints the traceback."""

from __future__ import annotations

import traceback

import pytest

from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.source import RocketMQSource
from sprocketmq.spark.store_source import RocketMQStoreSource


def shown(error: BaseException) -> list[str]:
    return traceback.format_exception(error)


def test_source_shows_one_frame_and_the_sentence() -> None:
    source = RocketMQSource({"nameserver": "127.0.0.1:1", "subscribe": "orders", "startingOffsets": "{"})
    with pytest.raises(OptionError) as caught:
        source.reader(source.schema())
    _head, *frames, sentence = shown(caught.value)
    assert len(frames) == 2, "the test and the entrance"
    assert sentence.startswith("sprocketmq.spark.options.options.OptionError: option 'startingOffsets' is not JSON")


def test_cluster_that_is_away_is_no_chain_of_errors() -> None:
    source = RocketMQSource({"nameserver": "127.0.0.1:1", "subscribe": "orders", "fetchOffset.numRetries": "0"})
    reader = source.reader(source.schema())
    with pytest.raises(Exception, match=r"127\.0\.0\.1:1") as caught:
        reader.partitions()
    assert "During handling" not in "".join(shown(caught.value))
    assert "direct cause" not in "".join(shown(caught.value))
    assert len(shown(caught.value)) == 4


def test_store_source_too() -> None:
    with pytest.raises(OptionError) as caught:
        RocketMQStoreSource({"path": "x", "damage": "hide"}).schema()
    assert len(shown(caught.value)) == 4
