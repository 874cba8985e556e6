from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.signatures import is_signed

from sprocketmq.protocol.signing import SECURITY_TOKEN, SIGNATURE, sign, signed_content, with_signature

CASES = json.loads((Path(__file__).parents[2] / "data" / "golden" / "hashes.json").read_text())["aclSignatures"]


@pytest.mark.parametrize("case", CASES)
def test_content_and_signature_are_java_s(case: dict[str, Any]) -> None:
    fields, body = case["signedFields"], bytes.fromhex(case["bodyHex"] or "")
    content = signed_content(fields, body)
    assert content.hex() == case["contentHex"]
    assert sign(content, case["secretKey"]) == case["signature"]
    signed = with_signature(
        {key: value for key, value in fields.items() if key not in ("AccessKey", SECURITY_TOKEN)},
        body,
        access_key=case["accessKey"],
        secret_key=case["secretKey"],
        security_token=case["securityToken"],
    )
    assert signed == {**fields, SIGNATURE: case["signature"]}
    assert is_signed(signed, body, case["secretKey"])


def test_the_known_vector() -> None:
    content = signed_content({"AccessKey": "RocketMQ", "topic": "T"}, b"body")
    assert sign(content, "12345678") == "xjHQAkZ6AeUd/4UKEel5AwANfm0="


def test_any_change_is_noticed() -> None:
    signed = with_signature({"topic": "T"}, b"body", access_key="key", secret_key="secret")
    assert is_signed(signed, b"body", "secret")
    assert not is_signed(signed, b"bodz", "secret")
    assert not is_signed(signed, b"body", "secreT")
    assert not is_signed({**signed, "topic": "U"}, b"body", "secret")
    assert not is_signed({**signed, "more": "x"}, b"body", "secret")
    assert not is_signed({**signed, SIGNATURE: "ü"}, b"body", "secret")
    assert not is_signed({"topic": "T"}, b"body", "secret")


def test_a_peer_may_leave_the_token_unsigned() -> None:
    fields = {"AccessKey": "key", SECURITY_TOKEN: "token", "topic": "T"}
    without = sign(signed_content(fields, b"", unsigned={SECURITY_TOKEN}), "secret")
    assert is_signed({**fields, SIGNATURE: without}, b"", "secret")


def test_named_fields_are_left_out() -> None:
    assert (
        signed_content({"b": "2", "_UNIQUE_KEY_QUERY": "x", "a": "1"}, b"!", unsigned={"_UNIQUE_KEY_QUERY"}) == b"12!"
    )
