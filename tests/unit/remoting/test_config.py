from __future__ import annotations

import pytest

from sprocketmq.config import from_properties
from sprocketmq.errors import ConfigError
from sprocketmq.remoting.config import ServerConfig


def test_limits_follow_the_settings() -> None:
    entries = {"serverChannelMaxIdleTimeSeconds": "30", "maxConnections": "7", "writeBufferHighWaterMark": "65536"}
    limits = from_properties(ServerConfig, entries).limits()
    assert (limits.idle_seconds, limits.max_connections, limits.write_pause_bytes) == (30, 7, 65536)
    assert limits.write_max_bytes >= 2 * limits.max_frame_bytes, "one whole answer always fits"
    assert ServerConfig().limits().write_pause_bytes == 1 << 20
    assert ServerConfig().limits().frame_seconds == 30


def test_a_bad_network_is_an_error_at_the_start() -> None:
    with pytest.raises(ConfigError, match="adminAllowFrom"):
        from_properties(ServerConfig, {"adminAllowFrom": "10.0.0.0/99"})
