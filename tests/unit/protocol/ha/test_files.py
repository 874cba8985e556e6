from __future__ import annotations

import pytest
from tests.unit.protocol.ha.golden_streams import FILES, recorded

from sprocketmq.errors import BodyError
from sprocketmq.protocol.ha.epoch_file import decode_epoch_file, encode_epoch_file
from sprocketmq.protocol.ha.epochs import Epoch, EpochList
from sprocketmq.protocol.ha.identity_file import (
    AppliedIdentity,
    BrokerIdentity,
    decode_applied_identity,
    decode_identity,
)

EPOCH_FILES = [name for name in FILES if "epochFile" in name]
WRITTEN = "2\n338835068\n1-0\n2-3021\n"


@pytest.mark.parametrize("name", EPOCH_FILES)
def test_epoch_files_of_java_brokers(name: str) -> None:
    text = recorded("files", name).decode()
    assert text == FILES[name]
    assert encode_epoch_file(decode_epoch_file(text)) == text


def test_an_epoch_file_says_what_it_says() -> None:
    assert decode_epoch_file(WRITTEN) == EpochList([Epoch(1, 0), Epoch(2, 3021)])
    assert decode_epoch_file(WRITTEN.rstrip("\n")) == decode_epoch_file(WRITTEN)
    assert decode_epoch_file("1\n0\n7-9\n") == EpochList([Epoch(7, 9)])  # checksum 0 is not checked
    assert decode_epoch_file(encode_epoch_file([])) == EpochList()


@pytest.mark.parametrize(
    "text",
    ["", "2", "x\n0\n", "1\n-1\n1-0\n", "2\n0\n1-0\n", "1\n0\n1-\n", "1\n0\n-1-0\n", "1\n0\nabc\n", "2\n0\n2-5\n1-6\n",
     "2\n338835069\n1-0\n2-3021\n", "2\n338835068\n1-0\n2-3022\n", "99999999999999\n0\n", "²\n0\n"],
)  # fmt: skip
def test_an_epoch_file_that_is_none(text: str) -> None:
    with pytest.raises(BodyError):
        decode_epoch_file(text)


@pytest.mark.parametrize("length", range(len(WRITTEN) - 1))
def test_a_torn_epoch_file_is_noticed(length: int) -> None:
    with pytest.raises(BodyError):
        decode_epoch_file(WRITTEN[:length])


@pytest.mark.parametrize("broker", [0, 1])
def test_identity_files_of_java_brokers(broker: int) -> None:
    text = recorded("files", f"broker{broker}.brokerIdentity").decode()
    cluster, name, number = FILES[f"broker{broker}.brokerIdentity"].split("#")
    assert decode_identity(text) == BrokerIdentity(cluster, name, int(number))
    assert decode_identity(text).encode() == text == FILES[f"broker{broker}.brokerIdentity"]


def test_who_applies_has_a_code() -> None:
    applied = AppliedIdentity(BrokerIdentity("HaCluster", "ha-a", 1), "127.0.0.1:10911;1763371234567")
    assert applied.encode() == "HaCluster#ha-a#1#127.0.0.1:10911;1763371234567"
    assert decode_applied_identity(applied.encode() + "\n") == applied


@pytest.mark.parametrize("text", ["", "a#b", "a#b#", "a#b#x", "a#b#-1", "#b#1", "a#b#1#c", "a#b#" + "9" * 19])
def test_an_identity_that_is_none(text: str) -> None:
    with pytest.raises(BodyError):
        decode_identity(text)


@pytest.mark.parametrize("text", ["a#b#1", "a#b#1#", "a#b#x#c"])
def test_an_application_that_is_none(text: str) -> None:
    with pytest.raises(BodyError):
        decode_applied_identity(text)
