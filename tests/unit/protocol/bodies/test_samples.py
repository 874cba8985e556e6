"""Every body against what RocketMQ's own class writes, with all fields filled and freshly made."""

from __future__ import annotations

import importlib
import json
import pkgutil
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.protocol import bodies, java_json
from sprocketmq.protocol.bodies import decode, encode
from sprocketmq.protocol.message_queue import MessageQueue

SAMPLES: dict[str, dict[str, str | None]] = json.loads((Path(__file__).parents[3] / "data" / "bodies.json").read_text())
CASES = [(name, text) for name, sample in SAMPLES.items() for text in sample.values() if text is not None]
IDS = [f"{name}-{kind}" for name, sample in SAMPLES.items() for kind, text in sample.items() if text is not None]
NOW_IN_JAVA = 1_700_000_000_000  # a fresh object of Java's holds the time it was made; ours holds none


def declared() -> dict[str, type]:
    modules = [importlib.import_module(f"{bodies.__name__}.{m.name}") for m in pkgutil.iter_modules(bodies.__path__)]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__ and name[0] != "_"
    }


DECLARED = declared()


def without_now(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: without_now(value) for key, value in tree.items()}
    return 0 if isinstance(tree, int) and tree > NOW_IN_JAVA else tree


def test_every_body_has_a_sample() -> None:
    assert set(DECLARED) == set(SAMPLES)


@pytest.mark.parametrize(("name", "text"), CASES, ids=IDS)
def test_a_body_is_written_back_as_java_wrote_it(name: str, text: str) -> None:
    assert encode(decode(DECLARED[name], text)).decode() == text


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample["default"]])
def test_a_fresh_body_has_java_s_defaults(name: str) -> None:
    expected = without_now(java_json.loads(SAMPLES[name]["default"] or ""))
    fresh = java_json.loads(encode(DECLARED[name]()))
    if name in ("QueueTimeSpan",):  # its texts are in local time
        expected = {key: value for key, value in expected.items() if not key.endswith("Str")}
        fresh = {key: value for key, value in fresh.items() if not key.endswith("Str")}
    assert fresh == expected


def test_a_message_queue_is_a_body_too() -> None:
    text = '{"brokerName":"s","queueId":1,"topic":"t"}'
    assert decode(MessageQueue, text) == MessageQueue("t", "s", 1)
    assert encode(MessageQueue("t", "s", 1)).decode() == text
    assert encode(MessageQueue()) == b'{"queueId":0}'
