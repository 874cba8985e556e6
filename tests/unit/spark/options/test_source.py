"""The source's options: defaults, and every refusal in one line that names the option."""

from __future__ import annotations

import pytest

from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.options import OptionError
from sprocketmq.spark.options.source import SourceOptions

BASE = {"nameserver": "localhost:9876", "subscribe": "orders"}


def batch(**given: str) -> SourceOptions:
    return SourceOptions.of({**BASE, **given}, streaming=False)


def stream(**given: str) -> SourceOptions:
    return SourceOptions.of({**BASE, **given}, streaming=True)


def test_defaults_follow_sparks_kafka_source() -> None:
    assert batch().start.word == "earliest"
    assert batch().end.word == "latest"
    assert stream().start.word == "latest"
    assert stream().fail_on_data_loss
    assert stream().max_delay_ms == 900_000
    assert not stream().commits


def test_topics_in_three_ways() -> None:
    assert batch(subscribe="a, b").topics.names == ("a", "b")
    pattern = SourceOptions.of({"nameserver": "h", "subscribePattern": "ord.*"}, streaming=True).topics
    assert pattern.matches("orders")
    assert not pattern.matches("my-orders")
    assigned = SourceOptions.of({"nameserver": "h", "assign": '{"orders": {"b": [1]}}'}, streaming=True)
    assert assigned.topics.queues == (MessageQueue("orders", "b", 1),)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subscribePattern": "x"}, "subscribe / subscribePattern' exclude one another"),
        ({"subscribe": ""}, "all missing"),
        ({"startingOffsets": "newest"}, "'startingOffsets' is one of earliest, latest, committed"),
        ({"startingOffsets": "latest"}, "'startingOffsets' cannot be latest in a batch"),
        ({"startingOffsets": '{"orders": {"b": {"0": -1}}}'}, "'startingOffsets' cannot be latest in a batch"),
        ({"startingOffsets": '{"orders": {"b": {"0": -3}}}'}, "below -2"),
        ({"startingOffsets": "{oops"}, "'startingOffsets' is not JSON"),
        ({"endingOffsets": "earliest"}, "'endingOffsets' is one of latest"),
        ({"endingOffsets": '{"orders": {"b": {"0": -2}}}'}, "'endingOffsets' cannot be the earliest"),
        ({"startingOffsets": "committed"}, "committed needs the option 'group'"),
        ({"startingTimestamp": "1", "startingOffsets": "earliest"}, "cannot be used together"),
        ({"sql": "price >"}, "'sql' is no filter: SQL92: the expression is not complete"),
        ({"kafka.bootstrap.servers": "h:1"}, "'kafka.bootstrap.servers' is one of Kafka's: here it is 'nameserver'"),
        ({"kafka.max.partition.fetch.bytes": "1"}, "is one of Kafka's: here it is none of the options"),
        ({"tags": "A", "sql": "a = 1"}, "'sql' cannot be used together with 'tags'"),
        ({"group": "g", "groupIdPrefix": "p"}, "'groupIdPrefix' cannot be used together"),
        ({"minPartitions": "none"}, "'minPartitions' is a whole number"),
        ({"startingOffsetsByTimestampStrategy": "guess"}, "one of error, latest"),
        ({"accessKey": "k"}, "'accessKey' and 'secretKey' go together"),
        ({"tlsCaFile": "x"}, "'tlsCaFile' needs the option 'tls' true"),
        ({"nameserver": "host:port"}, "'nameserver' is missing or malformed"),
        ({"failOnDataloss": "perhaps"}, "true or false"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError) as caught:
        batch(**given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(OptionError, match=f"'{name}' is for batch queries"):
        stream(**{name: "1"})


def test_a_stream_cannot_want_more_than_it_may_take() -> None:
    with pytest.raises(OptionError, match="minOffsetsPerTrigger"):
        stream(minOffsetsPerTrigger="10", maxOffsetsPerTrigger="5")


def test_a_bad_pattern_is_refused() -> None:
    with pytest.raises(OptionError, match=r"subscribePattern.*not a regular expression"):
        SourceOptions.of({"nameserver": "h", "subscribePattern": "("}, streaming=True)


def test_kafkas_own_spellings() -> None:
    given = {"nameserver": "h:1", "subscribe": "t", "kafkaConsumer.pollTimeoutMs": "5000", "includeHeaders": "false"}
    options = SourceOptions.of(given, streaming=False)
    assert options.patience == 5
    assert "properties" not in options.columns
    with pytest.raises(OptionError, match=r"kafkaConsumer\.pollTimeoutMs"):
        SourceOptions.of({**given, "pollTimeoutMs": "1"}, streaming=False)
