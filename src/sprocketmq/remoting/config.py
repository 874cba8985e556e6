"""The settings that every server has: where it listens, what it grants its peers, its TLS, and where its log goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sprocketmq.config import setting
from sprocketmq.remoting.allowed_peers import AllowedPeers, Networks
from sprocketmq.remoting.limits import Limits
from sprocketmq.remoting.tls.config import TlsConfig


class MetricsExporter(Enum):
    DISABLE = "DISABLE"
    PROM = "PROM"


class LogFormat(Enum):
    LOGFMT = "logfmt"
    JSON = "json"


class LogLevel(Enum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


#: What a server gives a frame that has begun: 16 MiB take half of it at 10 Mbit/s. A client waits longer for an answer.
FRAME_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig(TlsConfig):
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
    max_connections_per_address: int = setting(
        "maxConnectionsPerAddress", 1024, "And of one address; this machine and brokers are not held to it.", low=1
    )
    max_header_size: int = setting("maxHeaderSize", 131_072, "Longest header of a frame.", low=1024, high=1 << 24)
    max_unfinished_frame_bytes: int = setting(
        "maxUnfinishedFrameBytes", 256 << 20, "Of all frames that have begun: above this the largest goes.", low=1 << 20
    )
    max_unread_answer_bytes: int = setting(
        "maxUnreadAnswerBytes", 512 << 20, "Of all peers: above this those with the most are dropped.", low=1 << 20
    )
    costly_work_percent: int = setting(
        "costlyWorkPercent",
        1,
        "Of the server's time, for the costly requests of one address; 100 is no bound.",
        low=1,
        high=100,
    )
    max_body_size: int = setting(
        "maxBodySize", 1 << 20, "Longest body of a request that is no message and no registration.", low=1024
    )
    max_config_body_size: int = setting(
        "maxConfigBodySize", 65_536, "And of one that changes the configuration.", low=1024
    )
    max_frame_size: int = setting("maxFrameSize", 16_777_216, "Longest frame a peer may send.", low=1024, high=1 << 30)
    admin_allow_from: str = setting(
        "adminAllowFrom", "", "Networks, besides this machine, that may change things while no ACL is on."
    )
    admin_allow_local: bool = setting(
        "adminAllowLocal", True, "This machine may change things; false where a local proxy brings strangers."
    )
    proxy_protocol_from: str = setting(
        "proxyProtocolFrom", "", "Proxies: their connections begin with a PROXY header, which says who comes."
    )
    broker_allow_from: str = setting(
        "brokerAllowFrom", "", "Networks, besides this machine, of brokers: they register, and slaves copy tables."
    )
    log_file: str = setting("logFile", "", "Log to this file, rotated by size; empty is stderr.")
    log_level: LogLevel = setting("logLevel", LogLevel.INFO, "Least level that is logged.", runtime=True)
    log_format: LogFormat = setting(
        "logFormat", LogFormat.LOGFMT, "How a line is written: logfmt for people, json for collectors."
    )
    log_file_max_bytes: int = setting(
        "logFileMaxBytes", 64 << 20, "A log file that has grown so large is rotated.", low=1024
    )
    log_file_count: int = setting("logFileCount", 10, "Rotated log files that are kept.", low=0, high=1000)

    metrics_exporter_type: MetricsExporter = setting(
        "metricsExporterType", MetricsExporter.PROM, "PROM serves /metrics, /health and /ready; DISABLE does not."
    )
    metrics_prom_exporter_port: int = setting("metricsPromExporterPort", 5557, "On this port.", low=0, high=65535)
    metrics_prom_exporter_host: str = setting(
        "metricsPromExporterHost", "127.0.0.1", "At this address; it shows the names of all topics and groups."
    )
    metrics_max_connections: int = setting("metricsMaxConnections", 32, "Connections to it at once.", low=1)

    def __post_init__(self) -> None:
        self.access()  # a bad network is an error at the start, not at the first request
        self.broker_access()
        self.proxies()

    def access(self) -> AllowedPeers:
        """Who may change things."""
        return AllowedPeers(self._admins, local=self.admin_allow_local)

    def read_access(self) -> AllowedPeers:
        """Who may read what shows secrets, addresses or other people's data; slaves copy some of it."""
        return AllowedPeers(self._admins, self._brokers, local=self.admin_allow_local)

    def broker_access(self) -> AllowedPeers:
        """Who may speak as a broker."""
        return AllowedPeers(self._brokers, local=self.admin_allow_local)

    def proxies(self) -> Networks:
        return Networks("proxyProtocolFrom", self.proxy_protocol_from)

    @property
    def _admins(self) -> Networks:
        return Networks("adminAllowFrom", self.admin_allow_from)

    @property
    def _brokers(self) -> Networks:
        return Networks("brokerAllowFrom", self.broker_allow_from)

    def limits(self) -> Limits:
        pause = self.write_buffer_high_water_mark or Limits().write_pause_bytes
        return Limits(
            max_connections=self.max_connections,
            max_in_flight=self.max_in_flight_requests,
            max_connections_per_address=self.max_connections_per_address,
            max_frame_bytes=self.max_frame_size,
            max_header_bytes=self.max_header_size,
            max_unfinished_bytes=self.max_unfinished_frame_bytes,
            max_unread_bytes=self.max_unread_answer_bytes,
            costly_part=self.costly_work_percent / 100,
            idle_seconds=self.server_channel_max_idle_time_seconds,
            frame_seconds=FRAME_SECONDS,
            write_pause_bytes=pause,
            write_max_bytes=max(pause * 32, self.max_frame_size * 2),
        )
