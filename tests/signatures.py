"""Whether a request is signed, found out the plain way; a server does it in compiled code (auth/authentication)."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from sprocketmq.protocol.signing import SECURITY_TOKEN, SIGNATURE, sign, signed_content


def is_signed(ext_fields: Mapping[str, str], body: bytes, secret_key: str) -> bool:
    """Peers differ in whether they sign a security token: both count."""
    contents = [signed_content(ext_fields, body)]
    if SECURITY_TOKEN in ext_fields:
        contents.append(signed_content(ext_fields, body, unsigned={SECURITY_TOKEN}))
    signature = ext_fields.get(SIGNATURE, "").encode()
    return any(hmac.compare_digest(sign(content, secret_key).encode(), signature) for content in contents)
