"""Our clients wait for a busy machine: RocketMQ's 3 seconds for a request are a promise to users, not to a test."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pytest

from sprocketmq.client import ProducerSettings
from sprocketmq.client.admin import core
from sprocketmq.client.options import ClientOptions
from sprocketmq.remoting import RemotingClient

#: What takes so long that only campaigns run it.
LONG = pytest.mark.skipif("SPROCKETMQ_CHAOS" not in os.environ, reason="takes minutes: make chaos")
#: Only a hang takes as long as this.
PATIENT_S = 60.0

_PATIENT = {
    ProducerSettings: ("send_timeout",),
    ClientOptions: ("request_timeout", "connect_timeout"),
}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timeouts that a test does not set are long; those that it sets are its own."""
    for made, names in _PATIENT.items():
        init = made.__init__  # type: ignore[misc]
        given = {name: each.default for name, each in inspect.signature(init).parameters.items()}
        patient = {name: PATIENT_S if name in names else value for name, value in given.items()}
        defaults = tuple(value for value in patient.values() if value is not inspect.Parameter.empty)
        monkeypatch.setattr(init, "__defaults__", defaults)
    connect: Any = RemotingClient.__init__
    monkeypatch.setitem(connect.__kwdefaults__, "connect_timeout", PATIENT_S)
    monkeypatch.setattr(core, "TIMEOUT_S", PATIENT_S)
