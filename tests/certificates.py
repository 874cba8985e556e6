"""Two authorities, and certificates that one of them vouches for: what tests of TLS need."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest

from sprocketmq.certificates import Issued, PemFiles, make_authority, make_client, make_server

LOOPBACK = ("localhost", "127.0.0.1")
CLIENT_NAME = "orders-service"
KEY_PASSWORD = "opens-the-key"


@dataclass(frozen=True)
class Certificates:
    """`ca` vouches for `server` and `client`; `stranger`, a client of the same name, has another authority."""

    folder: Path
    authority: Issued
    ca: Path
    server: PemFiles
    locked: PemFiles
    client: PemFiles
    stranger_ca: Path
    stranger: PemFiles

    def server_keys(self, **more: str) -> dict[str, str]:
        """The settings of a server with a certificate, and `more` with `_` for `.`."""
        own = {"tls.server.certPath": str(self.server.cert), "tls.server.keyPath": str(self.server.key)}
        return own | {key.replace("_", "."): value for key, value in more.items()}

    def caller(self, own: PemFiles | None = None, ca: Path | None = None) -> ssl.SSLContext:
        """As Python's own library makes it."""
        context = ssl.create_default_context(cafile=str(ca or self.ca))
        if own is not None:
            context.load_cert_chain(own.cert, own.key)
        return context


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    ours, theirs = make_authority("Tests", days=30), make_authority("Others", days=30)
    server = make_server(ours, LOOPBACK, days=30)
    return Certificates(
        folder,
        ours,
        ours.write(folder, "ca").cert,
        server.write(folder, "server"),
        server.write(folder, "locked", KEY_PASSWORD),
        make_client(ours, CLIENT_NAME, days=30).write(folder, "client"),
        theirs.write(folder, "others").cert,
        make_client(theirs, CLIENT_NAME, days=30).write(folder, "stranger"),
    )
