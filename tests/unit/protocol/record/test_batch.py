from __future__ import annotations

from typing import Any

import pytest
from tests.unit.protocol import golden
from tests.unit.protocol.batches import encode_batch

from sprocketmq.errors import BodyError
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.properties import decode_properties

BATCHES = [entry for entry in golden.cases("messages") if entry["kind"] == "batchBody"]


@pytest.mark.parametrize("entry", BATCHES, ids=[entry["file"] for entry in BATCHES])
def test_golden_batch(entry: dict[str, Any]) -> None:
    data = golden.content("messages", entry)
    messages = decode_batch(data)
    assert [(flag, body.hex(), decode_properties(properties)) for flag, body, properties in messages] == [
        (message["flag"], message["bodyHex"], message["properties"]) for message in entry["messages"]
    ]
    assert encode_batch(messages) == data


def test_an_empty_body_holds_nothing() -> None:
    assert decode_batch(b"") == []


def test_a_batch_cut_anywhere_is_an_error() -> None:
    whole = encode_batch([(1, b"body", b"a\x01b\x02")])
    for end in range(1, len(whole)):
        with pytest.raises(BodyError):
            decode_batch(whole[:end])


@pytest.mark.parametrize(
    ("at", "value"), [(0, -1), (0, 21), (0, 1 << 30), (16, -1), (16, 5), (16, 0x7FFFFFFF)], ids=str
)
def test_a_length_that_lies_is_an_error(at: int, value: int) -> None:
    damaged = bytearray(encode_batch([(1, b"body", b"a\x01b\x02")]))
    damaged[at : at + 4] = value.to_bytes(4, "big", signed=True)
    with pytest.raises(BodyError, match="batch entry at 0"):
        decode_batch(bytes(damaged))
