"""Settings for every test, and what tests of several parts need."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.certificates import certificates
from tests.hypothesis_examples import examples
from tests.loop_clock import loop_clock
from tests.peers.patience import patience
from tests.peers.toolchain import needs_tools, openssl

from sprocketmq import job_records, logs

__all__ = ["certificate", "certificates", "loop_clock", "patience"]

# A first example pays for imports and tables; how long one takes says nothing here.
settings.register_profile(
    "sprocketmq", deadline=None, max_examples=examples(), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sprocketmq")

# Whoever runs the tests in the background of a script has them, and every process they start, ignore ^C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What collecting ten thousand tests has made stays until the end: no collection of garbage looks at it again.

    Some tests collect it a hundred times, and each time would look at half a million objects.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def records_of_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Jobs that tests run are noted among the tests' own files, not in the state of whoever runs them."""
    os.environ[job_records.ENVIRONMENT] = str(tmp_path_factory.mktemp("runs"))


@pytest.fixture(autouse=True)
def unheard_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests call from one address. What one of them has logged leaves room for the lines of the next."""
    monkeypatch.setattr(logs, "_peers", logs._PeerLines())


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
