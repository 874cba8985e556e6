from __future__ import annotations

import pytest

from sprocketmq.protocol import names
from sprocketmq.protocol.names import group_fault, topic_fault, with_namespace, without_namespace


@pytest.mark.parametrize("name", ["T", "order-events_1", "a|b", "ns%topic", "%RETRY%g", "%DLQ%g", "T" * 127])
def test_good_topics(name: str) -> None:
    assert topic_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["", " ", "a b", ".", "..", "../x", "a/b", "a\\b", "a.b", "a\n", "a\x00", "大", "a+b", "T" * 128, "%RETRY%../x"],
)
def test_bad_topics(name: str) -> None:
    assert topic_fault(name) is not None


@pytest.mark.parametrize("prefix", ["%RETRY%", "%DLQ%"])
def test_a_broker_s_own_topics_may_be_longer(prefix: str) -> None:
    assert topic_fault(prefix + "g" * (255 - len(prefix))) is None
    assert topic_fault(prefix + "g" * (256 - len(prefix))) is not None


@pytest.mark.parametrize(
    ("name", "good"), [("g", True), ("g" * 255, True), ("g" * 256, False), ("", False), ("a/b", False)]
)
def test_groups(name: str, good: bool) -> None:
    assert (group_fault(name) is None) is good


def test_groups_of_retry_topics() -> None:
    assert names.group_of_retries("%RETRY%G") == "G"
    assert names.group_of_retries("%RETRY%G+T") == "G"


def test_a_fault_says_what_it_is() -> None:
    assert topic_fault("") == "the topic is blank"
    assert topic_fault("T" * 128) == "the topic has 128 characters, more than 127"
    assert "other characters" in str(group_fault("a b"))


def test_system_names() -> None:
    assert all(map(names.is_system_topic, ["TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "rmq_sys_x"]))
    assert not names.is_system_topic("TopicTest")
    assert all(map(names.is_system_group, ["CID_RMQ_SYS_TRANS", "CID_RMQ_SYS_x", "TOOLS_CONSUMER"]))
    assert not names.is_system_group("GID")
    assert names.CLOSED_TOPICS < names.SYSTEM_TOPICS


def test_derived_topics() -> None:
    assert names.retry_topic("G") == "%RETRY%G"
    assert names.dlq_topic("G") == "%DLQ%G"
    assert names.pop_retry_topic("G", "T") == "%RETRY%G_T"
    assert names.pop_retry_topic("G", "T", separator="+") == "%RETRY%G+T"
    assert topic_fault(names.pop_retry_topic("G", "T", separator="+")) is None


@pytest.mark.parametrize(
    ("name", "inside"),
    [("T", "ns%T"), ("%RETRY%G", "%RETRY%ns%G"), ("%DLQ%G", "%DLQ%ns%G"), ("ns%T", "ns%T"), ("TBW102", "TBW102")],
)
def test_namespaces(name: str, inside: str) -> None:
    assert with_namespace("ns", name) == inside
    assert without_namespace("ns", inside) == without_namespace("ns", name)
    assert with_namespace("", name) == with_namespace(None, name) == without_namespace(None, name) == name
