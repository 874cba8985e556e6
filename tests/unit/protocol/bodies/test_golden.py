"""Bodies that real clients, brokers and nameservers exchanged."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.protocol import java_json
from sprocketmq.protocol.bodies import decode, encode, encode_standard

BODIES = json.loads((Path(__file__).parents[3] / "data" / "golden" / "json_bodies.json").read_text())
MODULES = {
    "CheckClientRequestBody": "heartbeat",
    "ClusterInfo": "cluster",
    "ConsumeStats": "stats",
    "ConsumerConnection": "connections",
    "ConsumerRunningInfo": "running_info",
    "DataVersion": "data_version",
    "GetConsumerListByGroupResponseBody": "connections",
    "HeartbeatData": "heartbeat",
    "KVTable": "registration",
    "LockBatchRequestBody": "locks",
    "LockBatchResponseBody": "locks",
    "ProducerConnection": "connections",
    "RegisterBrokerBody": "registration",
    "ResetOffsetBody": "offsets",
    "SubscriptionGroupConfig": "group",
    "TopicConfig": "topic",
    "TopicConfigAndMappingSerializeWrapper": "mapping",
    "TopicList": "topic",
    "TopicRouteData": "route",
    "TopicStatsTable": "stats",
    "UnlockBatchRequestBody": "locks",
}
SETS = ("mqSet", "topicList")


def body_class(name: str) -> type:
    found: type = getattr(importlib.import_module(f"sprocketmq.protocol.bodies.{MODULES[name]}"), name)
    return found


def in_order(tree: Any) -> Any:
    """Java writes sets in the order of its hash tables; ours are sorted."""
    return {key: sorted(value, key=repr) if key in SETS else value for key, value in tree.items()}


@pytest.mark.parametrize("sample", BODIES, ids=[sample["frame"] for sample in BODIES])
def test_a_recorded_body_is_written_back(sample: dict[str, str]) -> None:
    body: object = decode(body_class(sample["class"]), sample["body"])
    written = {encode(body).decode(), encode_standard(body).decode()}
    if sample["body"] not in written:
        assert in_order(java_json.loads(encode(body))) == in_order(java_json.loads(sample["body"]))
