"""A client of TLS 1.3 that changes its keys without end, which Python's own library cannot be asked for (RFC 8446).

handshake by the library -> its log of secrets -> records by ourselves, a new key after each

record := 23 0x0303 length:u16 AES-GCM(content kind)        content of a key update := 24 1:u24 0
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, HashAlgorithm
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

_KEY_UPDATE = bytes([24, 0, 0, 1, 0])
_HANDSHAKE, _DATA = b"\x16", b"\x17"
_SECRET = "CLIENT_TRAFFIC_SECRET_0"


class KeyUpdates:
    """What a client sends after its handshake: one update after another, each under the key that the last one made."""

    def __init__(self, secret: bytes, cipher: str, talk: ssl.SSLObject, incoming: ssl.MemoryBIO) -> None:
        self._secret = secret
        self._talk, self._incoming = talk, incoming
        self._hash: HashAlgorithm = SHA384() if cipher.endswith("SHA384") else SHA256()
        self._key_length = 32 if "256_GCM" in cipher else 16

    def next(self, number: int, data: bytes = b"") -> bytes:
        """So many updates, and `data` under the key of the last; it is to be the last that is sent."""
        records = [self._update() for _ in range(number)]
        return b"".join([*records, self._record(data, _DATA)] if data else records)

    def heard(self, data: bytes) -> bytes:
        """What the server has said with it, under keys of its own that stay."""
        self._incoming.write(data)
        with contextlib.suppress(ssl.SSLWantReadError):
            return self._talk.read(65536)
        return b""

    def _update(self) -> bytes:
        record = self._record(_KEY_UPDATE, _HANDSHAKE)
        self._secret = self._expand(b"traffic upd", self._hash.digest_size)
        return record

    def _record(self, content: bytes, kind: bytes) -> bytes:
        """The first of its key, so that its number, which is mixed into the vector, is 0."""
        head = b"\x17\x03\x03" + (len(content) + 1 + 16).to_bytes(2, "big")
        key, vector = self._expand(b"key", self._key_length), self._expand(b"iv", 12)
        return head + AESGCM(key).encrypt(vector, content + kind, head)

    def _expand(self, label: bytes, length: int) -> bytes:
        label = b"tls13 " + label
        info = length.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
        return HKDFExpand(self._hash, length, info).derive(self._secret)


async def shake_hands(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> KeyUpdates:
    """Over a connection that is new; nothing has been said over it when this is done."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "secrets"
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.keylog_filename = str(log)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        talk = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        done = False
        while not done:
            with contextlib.suppress(ssl.SSLWantReadError):
                talk.do_handshake()
                done = True
            writer.write(outgoing.read())
            if not done:
                incoming.write(await reader.read(65536))
        secrets = {words[0]: words[2] for line in log.read_text().splitlines() if len(words := line.split()) == 3}
    cipher = talk.cipher()
    assert cipher is not None
    return KeyUpdates(bytes.fromhex(secrets[_SECRET]), cipher[0], talk, incoming)
