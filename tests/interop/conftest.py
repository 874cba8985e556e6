"""The interop tests share the peers of tests/peers."""

from __future__ import annotations

from tests.peers.fixtures import *  # noqa: F403
