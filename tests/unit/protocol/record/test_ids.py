from __future__ import annotations

import datetime
import ipaddress
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.protocol.unique_ids import decode_unique_id

from sprocketmq.errors import CommandError
from sprocketmq.protocol.record.hosts import decode_host, encode_host
from sprocketmq.protocol.record.ids import (
    UniqueIds,
    decode_offset_message_id,
    month_start_ms,
    offset_message_id,
)

HASHES = json.loads((Path(__file__).parents[3] / "data" / "golden" / "hashes.json").read_text())
ADDRESS = bytes([127, 0, 0, 1])
NOW = int(datetime.datetime(2026, 11, 15, 12).timestamp() * 1000)


def split(host: str) -> tuple[str, int]:
    address, _, port = host.rpartition(":")
    return str(ipaddress.ip_address(address.strip("[]"))), int(port)


@pytest.mark.parametrize("case", HASHES["messageIds"])
def test_offset_ids_are_java_s(case: dict[str, Any]) -> None:
    host = encode_host(*split(case["host"]))
    assert offset_message_id(host, case["offset"]) == case["msgId"]
    assert decode_offset_message_id(case["msgId"]) == (host, case["decodedOffset"])
    assert decode_host(host) == split(case["decodedHost"])


@pytest.mark.parametrize("case", HASHES["uniqIds"]["cases"])
def test_unique_ids_are_taken_apart_as_java_does(case: dict[str, Any]) -> None:
    parts = decode_unique_id(case["uniqId"])
    assert (parts.address.hex(), parts.pid, parts.instance) == (case["ipHex"], case["pid"], case["classLoaderHash"])
    assert (parts.millis, parts.counter) == (case["millisSinceMonthStart"], case["counter"])


@pytest.mark.parametrize("text", ["", "7F", "xx" * 16, "7F 0" * 8, "0" * 31, "0" * 33, "0" * 58, "０" * 32])
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(CommandError, match="no message id"):
        decode_offset_message_id(text)


def test_made_ids_hold_what_they_should() -> None:
    ids = UniqueIds(ADDRESS, lambda: NOW, instance=0x12345678)
    first, second = decode_unique_id(ids.next()), decode_unique_id(ids.next())
    assert (first.address, first.pid, first.instance) == (ADDRESS, os.getpid() & 0xFFFF, 0x12345678)
    assert first.born_ms(NOW) == NOW
    assert (first.counter, second.counter) == (0, 1)


def test_the_counter_wraps() -> None:
    ids = UniqueIds(bytes(16), lambda: NOW)
    made = {ids.next() for _ in range(65_536)}
    assert len(made) == 65_536
    assert decode_unique_id(ids.next()).counter == 0
    assert {len(each) for each in made} == {56}


def test_a_block_is_taken_at_once() -> None:
    ids = UniqueIds(ADDRESS, lambda: NOW)
    head, first = ids.block(65_535)
    assert (head, first) == (ids.next()[:-4], 0)
    assert ids.block(2) == (head, 0)
    assert ids.next() == f"{head}0002"
    with pytest.raises(ValueError, match="65537 ids"):
        ids.block(65_537)


def test_an_id_of_last_month_is_dated_there() -> None:
    clock = iter([month_start_ms(NOW) - 5, month_start_ms(NOW) + 5])
    ids = UniqueIds(ADDRESS, lambda: next(clock))
    old, new = decode_unique_id(ids.next()), decode_unique_id(ids.next())
    assert old.born_ms(NOW) == month_start_ms(NOW) - 5
    assert (new.millis, new.born_ms(NOW)) == (5, month_start_ms(NOW) + 5)


def test_the_month_is_followed_when_the_clock_goes_back() -> None:
    clock = iter([NOW, month_start_ms(NOW) - 1])
    ids = UniqueIds(ADDRESS, lambda: next(clock))
    ids.next()
    assert decode_unique_id(ids.next()).born_ms(month_start_ms(NOW)) == month_start_ms(NOW) - 1


def test_two_makers_do_not_collide() -> None:
    one, two = UniqueIds(ADDRESS, lambda: NOW), UniqueIds(ADDRESS, lambda: NOW)
    assert one.next() != two.next()


def test_a_forked_process_makes_other_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = UniqueIds(ADDRESS, lambda: NOW, instance=7)
    parent = decode_unique_id(ids.next())
    monkeypatch.setattr(os, "getpid", lambda: parent.pid + 1)
    child = decode_unique_id(ids.next())
    assert child.pid == parent.pid + 1 & 0xFFFF
    assert (child.instance, child.counter) != (parent.instance, parent.counter)
