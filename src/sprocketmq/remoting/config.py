"""The settings that every server has: where it listens, what it grants its peers, and where its log goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sprocketmq.config import setting
from sprocketmq.remoting.admin_access import AdminAccess
from sprocketmq.remoting.limits import Limits


class LogLevel(Enum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    bind_address: str = setting("bindAddress", "0.0.0.0", "Address to listen on.")
    server_channel_max_idle_time_seconds: int = setting(
        "serverChannelMaxIdleTimeSeconds", 120, "A connection without traffic for so long is closed.", low=1
    )
    write_buffer_high_water_mark: int = setting(
        "writeBufferHighWaterMark", 0, "Unread answers above this pause a peer; 0 is 1 MiB.", low=0, high=1 << 30
    )
    max_connections: int = setting("maxConnections", 50_000, "Connections at once.", low=1)
    max_in_flight_requests: int = setting(
        "maxInFlightRequests", 65_536, "Requests of one connection that wait, long polls too.", low=1
    )
    max_frame_size: int = setting("maxFrameSize", 16_777_216, "Longest frame a peer may send.", low=1024, high=1 << 30)
    admin_allow_from: str = setting(
        "adminAllowFrom", "", "Networks, besides this machine, that may change things while no ACL is on."
    )
    log_file: str = setting("logFile", "", "Log to this file, rotated by size; empty is stderr.")
    log_level: LogLevel = setting("logLevel", LogLevel.INFO, "Least level that is logged.", runtime=True)
    log_file_max_bytes: int = setting(
        "logFileMaxBytes", 64 << 20, "A log file that has grown so large is rotated.", low=1024
    )
    log_file_count: int = setting("logFileCount", 10, "Rotated log files that are kept.", low=0, high=1000)

    def __post_init__(self) -> None:
        self.access()  # a bad network is an error at the start, not at the first admin call

    def access(self) -> AdminAccess:
        return AdminAccess(self.admin_allow_from)

    def limits(self) -> Limits:
        pause = self.write_buffer_high_water_mark or Limits().write_pause_bytes
        return Limits(
            max_connections=self.max_connections,
            max_in_flight=self.max_in_flight_requests,
            max_frame_bytes=self.max_frame_size,
            idle_seconds=self.server_channel_max_idle_time_seconds,
            write_pause_bytes=pause,
            write_max_bytes=max(pause * 32, self.max_frame_size * 2),
        )
