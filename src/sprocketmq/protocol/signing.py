"""Signed requests: HMAC-SHA1 over the header fields and the body.

content    = the values of all header fields but `Signature`, in the order of their keys, then the body
Signature  = base64(HMAC-SHA1(secret key, content))
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Collection, Mapping

ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"
SECURITY_TOKEN = "SecurityToken"


def signed_content(ext_fields: Mapping[str, str], body: bytes | bytearray, *, unsigned: Collection[str] = ()) -> bytes:
    """The bytes that are signed. `unsigned` names further fields that a peer leaves out."""
    keys = sorted(key for key in ext_fields if key != SIGNATURE and key not in unsigned)
    return "".join([ext_fields[key] for key in keys]).encode() + body


def sign(content: bytes, secret_key: str) -> str:
    return base64.b64encode(hmac.digest(secret_key.encode(), content, hashlib.sha1)).decode()


def with_signature(
    ext_fields: Mapping[str, str], body: bytes | bytearray, *, access_key: str, secret_key: str,
    security_token: str | None = None,
) -> dict[str, str]:  # fmt: skip
    """`ext_fields` with the caller's key and its signature added."""
    fields = {**ext_fields, ACCESS_KEY: access_key}
    if security_token is not None:
        fields[SECURITY_TOKEN] = security_token
    return {**fields, SIGNATURE: sign(signed_content(fields, body), secret_key)}


def is_signed(ext_fields: Mapping[str, str], body: bytes, secret_key: str) -> bool:
    """Whether the request's signature is right. Peers differ in whether they sign a security token: both count."""
    contents = [signed_content(ext_fields, body)]
    if SECURITY_TOKEN in ext_fields:
        contents.append(signed_content(ext_fields, body, unsigned={SECURITY_TOKEN}))
    signature = ext_fields.get(SIGNATURE, "").encode()
    return any(hmac.compare_digest(sign(content, secret_key).encode(), signature) for content in contents)
