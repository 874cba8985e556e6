"""Signed requests: HMAC-SHA1 over the header fields and the body.

content    = the values of all header fields but `Signature`, in the order of their keys, then the body
Signature  = base64(HMAC-SHA1(secret key, content))

Keys sort by UTF-16 unit, as Java's do. Neither the code of a request nor a time is signed, so that a request can be
sent again, or as another. Where both sides are ours, `RequestStamps` adds them, as fields that a server which does not
know them signs like any other:

_ts     milliseconds since 1970
_nonce  a text that no other request has
_code   the request code
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import secrets
import time
from collections.abc import Collection, Mapping

ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"
SECURITY_TOKEN = "SecurityToken"
TIMESTAMP, NONCE, CODE = "_ts", "_nonce", "_code"
#: Of a query, besides its header: the key is a unique one.
UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"


def signed_content(ext_fields: Mapping[str, str], body: bytes | bytearray, *, unsigned: Collection[str] = ()) -> bytes:
    """The bytes that are signed. `unsigned` names further fields that a peer leaves out."""
    keys = [key for key in ext_fields if key != SIGNATURE and key not in unsigned]
    keys.sort(key=None if all(map(str.isascii, keys)) else utf16_units)
    return "".join([ext_fields[key] for key in keys]).encode() + body


def utf16_units(key: str) -> bytes:
    """What orders keys as Java does; code points do so, too, but for those beyond the first 65,536."""
    return key.encode("utf-16-be", "surrogatepass")


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


class RequestStamps:
    """Gives requests their time, their code and a number used once: signed, they count but once, as what they are.

    The number is `STREAM-COUNT`: a text that no other sender has, and how many requests it has stamped before. It
    begins with a letter, so that no digit of the code before it can be taken for one of its own.
    """

    def __init__(self) -> None:
        self._stream = f"s{secrets.token_urlsafe(12)}"
        self._counts = itertools.count()

    def stamped(self, ext_fields: Mapping[str, str], code: int) -> dict[str, str]:
        now_ms = time.time_ns() // 1_000_000
        nonce = f"{self._stream}-{next(self._counts)}"
        return {**ext_fields, TIMESTAMP: str(now_ms), NONCE: nonce, CODE: str(int(code))}
