"""Settings for every test, and what tests of several parts need."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.loop_clock import loop_clock
from tests.peers.patience import patience
from tests.peers.toolchain import needs_tools, openssl

__all__ = ["certificate", "loop_clock", "patience"]

# A first example pays for imports and tables; how long one takes says nothing here.
settings.register_profile("sprocketmq", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sprocketmq")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for the loopback address that vouches for itself, and its key."""
    place = tmp_path_factory.mktemp("tls")
    cert, key = place / "cert.pem", place / "key.pem"
    with needs_tools():
        program = openssl()
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(cert)]
    subprocess.run([program, *options, *names, *files], check=True, capture_output=True)
    return cert, key
