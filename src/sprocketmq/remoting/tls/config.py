"""The settings of TLS, with the keys of RocketMQ's tls.properties.

They may stand in broker.conf and namesrv.conf, or in a tls.properties that `tls.config.file` names; what that file says
wins, as in RocketMQ. Where RocketMQ would believe anybody, these settings want a reason: see docs/tls.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path

from sprocketmq.config import from_properties, read_entries, setting, to_properties, unknown_keys
from sprocketmq.errors import ConfigError

#: Read when it is there and no other is named, as RocketMQ does.
DEFAULT_FILE = Path("/etc/rocketmq/tls.properties")


class TlsMode(Enum):
    disabled = "disabled"
    permissive = "permissive"
    enforcing = "enforcing"


class ClientAuth(Enum):
    none = "none"
    optional = "optional"
    require = "require"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    tls_config_file: Path = setting("tls.config.file", DEFAULT_FILE, "A tls.properties; its values win.")
    tls_server_mode: TlsMode = setting(
        "tls.server.mode", TlsMode.permissive, "Plain and TLS on one port, or one of them; no certificate is disabled."
    )
    tls_server_cert_path: str = setting("tls.server.certPath", "", "The server's certificate chain, PEM.")
    tls_server_key_path: str = setting("tls.server.keyPath", "", "Its key, PEM.")
    tls_server_key_password: str = setting("tls.server.keyPassword", "", "Opens the key.")
    tls_server_need_client_auth: ClientAuth = setting(
        "tls.server.need.client.auth", ClientAuth.none, "Whether clients show a certificate."
    )
    tls_server_auth_client: bool = setting(
        "tls.server.authClient", False, "Without a trustCertPath, the system's authorities vouch for clients."
    )
    tls_server_trust_cert_path: str = setting(
        "tls.server.trustCertPath", "", "Authorities that vouch for clients, PEM."
    )
    tls_enable: bool = setting("tls.enable", False, "What this server calls, it calls over TLS; the HA stream too.")
    tls_client_cert_path: str = setting("tls.client.certPath", "", "The certificate it shows there, PEM.")
    tls_client_key_path: str = setting("tls.client.keyPath", "", "Its key, PEM.")
    tls_client_key_password: str = setting("tls.client.keyPassword", "", "Opens the key.")
    tls_client_auth_server: bool = setting(
        "tls.client.authServer", True, "Whether those it calls must prove themselves."
    )
    tls_client_check_host_name: bool = setting(
        "tls.client.checkHostName", True, "Whether their certificates must name the address that is called."
    )
    tls_client_trust_cert_path: str = setting(
        "tls.client.trustCertPath", "", "Authorities that vouch for them, PEM; empty is tls.server.trustCertPath."
    )
    tls_test_mode_enable: bool = setting(
        "tls.test.mode.enable", False, "Try TLS without files: a made-up certificate, and everybody is believed."
    )


def tls_settings(config: TlsConfig) -> TlsConfig:
    """The settings of TLS alone, with those of the file that `tls.config.file` names; ConfigError says what is bad."""
    own = {field.name: getattr(config, field.name) for field in fields(TlsConfig)}
    path = config.tls_config_file
    if path == DEFAULT_FILE and not path.exists():
        return TlsConfig(**own)
    entries = read_entries(path)
    return _with_entries(TlsConfig(**own), path, entries)


def _with_entries(config: TlsConfig, path: Path, entries: Mapping[str, str]) -> TlsConfig:
    for key in unknown_keys(entries, TlsConfig):
        if key.startswith("tls."):
            raise ConfigError(f"{path}: {key}: no such key")
    try:
        return from_properties(TlsConfig, {**to_properties(config), **entries})
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
