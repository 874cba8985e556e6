"""Every test here runs against each cluster: the real Apache RocketMQ 5.3.3, and ours."""

from __future__ import annotations

from tests.peers.fixtures import *  # noqa: F403
