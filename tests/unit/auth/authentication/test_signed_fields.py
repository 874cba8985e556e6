from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.signatures import is_signed

from sprocketmq.auth.authentication.signed_fields import SignedFields, SigningKey
from sprocketmq.codes import SerializeType
from sprocketmq.errors import CommandError
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.signing import SECURITY_TOKEN, SIGNATURE, sign, signed_content, with_signature

from ..golden import GOLDEN

MAX_FIELDS = 256


def received(command: Command) -> Command:
    """As a server has it: the header is read from the frame."""
    (there,) = FrameDecoder().feed(encode_frame(command))
    return there


def read(command: Command, deciding: Mapping[int, list[bytes]] | None = None) -> SignedFields:
    found = SignedFields(deciding)
    found.read(received(command))
    return found


def is_right(command: Command, secret: str) -> bool:
    return read(command).is_signed_with(SigningKey(secret))


@pytest.mark.parametrize("row", GOLDEN["signatures"], ids=lambda row: f"{row['note']}-{row['serialize']}")
def test_the_server_signs_what_java_s_signs(row: dict[str, Any]) -> None:
    if not row["secretKey"]:
        with pytest.raises(ValueError, match="empty"):
            SigningKey("")
        return
    binary = row["serialize"] == "binary"
    command = Command(
        row["code"],
        ext_fields={key: value or "" for key, value in row["wireFields"].items()},
        body=bytes.fromhex(row["bodyHex"] or ""),
        version=row["version"],
        serialize_type=SerializeType.ROCKETMQ if binary else SerializeType.JSON,
    )
    found = read(command)
    assert found.access_key.decode() == row["accessKey"]
    as_server = Command(
        row["code"],
        ext_fields={**(command.ext_fields or {}), SIGNATURE: row["serverSignature"]},
        body=command.body,
        version=row["version"],
        serialize_type=command.serialize_type,
    )
    assert is_right(as_server, row["secretKey"])
    # Java's own clients send an empty value in a binary header, and Java's server refuses them for it.
    is_lenient = binary and "" in command.ext_fields.values() if command.ext_fields else False
    assert found.is_signed_with(SigningKey(row["secretKey"])) is (row["accepted"] or is_lenient)


FIELDS = {
    "topic": "orders",
    "a": "1",
    "Zeta": "capital",
    "9": "digit",
    "_x": "mark",
    "\U0001f600": "astral",
    "�": "last",
}


@pytest.mark.parametrize("serialize_type", list(SerializeType))
@pytest.mark.parametrize("fields", [FIELDS, {key: FIELDS[key] for key in ("topic", "a")}, {}])
@pytest.mark.parametrize("body", [b"", b"body"])
def test_what_clients_sign_is_right(serialize_type: int, fields: dict[str, str], body: bytes) -> None:
    signed = with_signature(fields, body, access_key="key", secret_key="secret")
    command = Command(10, ext_fields=signed, body=body, serialize_type=serialize_type)
    assert is_right(command, "secret")
    assert not is_right(command, "secreT")
    assert is_signed(signed, body, "secret")


def test_each_byte_counts() -> None:
    body = bytes(range(64))
    signed = with_signature({"b": "orders", "e": "0"}, body, access_key="key", secret_key="secret")
    for at in range(len(body)):
        changed = bytearray(body)
        changed[at] ^= 1
        assert not is_right(Command(310, ext_fields=signed, body=bytes(changed)), "secret")
    for key in signed:
        for at in range(len(signed[key])):
            value = signed[key][:at] + "~" + signed[key][at + 1 :]
            assert not is_right(Command(310, ext_fields={**signed, key: value}, body=body), "secret")
        assert not is_right(Command(310, ext_fields={**signed, key: ""}, body=body), "secret")


def test_the_order_of_fields_is_no_matter() -> None:
    signed = with_signature({"b": "1", "a": "2", "c": "3"}, b"", access_key="key", secret_key="secret")
    assert is_right(Command(1, ext_fields=dict(reversed(signed.items()))), "secret")


@pytest.mark.parametrize("wrong", ["", "x", "=" * 28, "\u00fc"])
def test_no_signature_is_a_wrong_one(wrong: str) -> None:
    assert not is_right(Command(1, ext_fields={"AccessKey": "key", SIGNATURE: wrong}), "secret")


def test_a_signature_of_the_same_bytes_in_other_letters_is_wrong() -> None:
    """The last letter has two bits that base64 does not use."""
    signed = with_signature({}, b"", access_key="key", secret_key="secret")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = letters[letters.index(signed[SIGNATURE][26]) ^ 1]
    assert not is_right(Command(1, ext_fields={**signed, SIGNATURE: signed[SIGNATURE][:26] + last + "="}), "secret")


def test_a_peer_may_leave_the_token_unsigned() -> None:
    fields = {"AccessKey": "key", SECURITY_TOKEN: "token", "topic": "T"}
    without = sign(signed_content(fields, b"", unsigned={SECURITY_TOKEN}), "secret")
    assert is_right(Command(1, ext_fields={**fields, SIGNATURE: without}), "secret")


def test_a_field_that_comes_twice_counts_once() -> None:
    """Java's client writes some of them twice into a binary header, and signs them once."""
    signed = with_signature({"a": "p", "topic": "T", "z": "1"}, b"", access_key="key", secret_key="secret")
    frame = encode_frame(Command(1, ext_fields={**signed, "topix": "T"}, serialize_type=SerializeType.ROCKETMQ))
    (command,) = FrameDecoder().feed(frame.replace(b"topix", b"topic"))
    found = SignedFields()
    found.read(command)
    assert found.is_signed_with(SigningKey("secret"))


def test_a_field_with_two_values_is_refused() -> None:
    """Whoever reads the first of them and whoever reads the last would not see the same request."""
    frame = encode_frame(Command(1, ext_fields={"topic": "T", "topix": "U"}, serialize_type=SerializeType.ROCKETMQ))
    (command,) = FrameDecoder().feed(frame.replace(b"topix", b"topic"))
    with pytest.raises(CommandError, match="twice"):
        SignedFields().read(command)


def test_there_is_an_end_of_fields() -> None:
    read(Command(1, ext_fields={f"k{n}": "" for n in range(MAX_FIELDS)}))
    with pytest.raises(CommandError, match="256"):
        SignedFields().read(Command(1, ext_fields={f"k{n}": "" for n in range(MAX_FIELDS + 1)}))


def test_values_are_found_by_name() -> None:
    names = [b"bb", b"b", b"e", b"none"]
    found = read(Command(1, ext_fields={"b": "topic-ü", "bb": "other", "e": ""}), {1: names})
    values = b"\0\0\0\x01" + b"\0\0\0\x05other" + b"\0\0\0\x08topic-\xc3\xbc" + b"\0\0\0\0" + b"\xff\xff\xff\xff"
    assert found.deciding_values() == values


def test_values_of_one_request_are_not_those_of_another() -> None:
    """Neither where a name goes on in the next, nor where one is missing."""
    deciding = {code: [b"topic", b"group"] for code in (1, 2)}
    kinds: list[dict[str, str]] = [
        {"topic": "a", "group": "bc"}, {"topic": "ab", "group": "c"}, {"topic": "a"}, {"topic": "a", "group": ""},
        {"group": "a"}, {}, {"topic": "a", "group": "\0\0\0\x01b"},
    ]  # fmt: skip
    requests = [Command(code, ext_fields=fields) for fields in kinds for code in (1, 2)]
    values = [read(request, deciding).deciding_values() for request in requests]
    assert len(set(values)) == 2 * len(kinds)
    for request, own in zip(requests, values, strict=True):
        found = read(request, deciding)
        assert [each for each in (*values, b"", own[:-1], own + b"x") if found.has_deciding_values(each)] == [own]


def test_a_request_that_is_not_decided_by_its_fields_has_no_deciding_values() -> None:
    found = read(Command(1, ext_fields={"topic": "a"}), {})
    assert not found.is_decided_by_fields()
    assert not found.has_deciding_values(b"\0\0\0\x01")


def test_keys_that_begin_alike_have_an_order() -> None:
    fields = {f"eightand{n}": str(n) for n in (3, 1, 2)} | {"eightan": "0", "eightand": "e", "eightand\0": "z", "": "n"}
    signed = with_signature(fields, b"", access_key="key", secret_key="secret")
    assert is_right(Command(1, ext_fields=signed), "secret")


def test_nothing_is_read_behind_a_header_that_ends_where_another_had_a_field_without_a_name() -> None:
    """Such a field begins with zeros, as what lies behind a header may."""
    found = SignedFields({10: [b"a", b""]})
    values = []
    for fields in ({"a": "1", "": "x"}, {"a": "1"}):
        found.read(received(Command(10, ext_fields=fields, serialize_type=SerializeType.ROCKETMQ)))
        values.append(found.deciding_values()[4:])
    assert values == [b"\0\0\0\x011\0\0\0\x01x", b"\0\0\0\x011\xff\xff\xff\xff"]
