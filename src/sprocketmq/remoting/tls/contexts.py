"""The contexts of TLS: which certificate is shown, whose are believed. Every one that the project uses is made here.

TLS 1.2 at least, whatever the system's OpenSSL would still allow.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from sprocketmq.errors import ConfigError
from sprocketmq.remoting.tls.config import ClientAuth, TlsConfig

_VERIFY = {
    ClientAuth.none: ssl.CERT_NONE,
    ClientAuth.optional: ssl.CERT_OPTIONAL,
    ClientAuth.require: ssl.CERT_REQUIRED,
}


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """A certificate chain, its key (which may be in the same file), what opens it, and how the three are called."""

    cert: str
    key: str = ""
    password: str = field(default="", repr=False)
    names: tuple[str, str, str] = ("certificate", "key", "key password")

    def load_into(self, context: ssl.SSLContext) -> None:
        cert, key, password = self.names

        def ask() -> str:
            if not self.password:
                raise ConfigError(f"{key} {self.key or self.cert}: it is encrypted, and there is no {password}")
            return self.password

        try:
            context.load_cert_chain(_path(self.cert), _path(self.key) if self.key else None, ask)
        except ssl.SSLError as error:
            raise ConfigError(f"{key} {self.key or self.cert}: {_reason(error, cert, self.cert, password)}") from None
        except OSError as error:
            raise ConfigError(f"{cert} {self.cert}, {key} {self.key or self.cert}: {error.strerror or error}") from None


def _reason(error: ssl.SSLError, cert: str, path: str, password: str) -> str:
    """What OpenSSL means; it never says what it has read."""
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"not the key of {cert} {path}"
    if error.reason is None or "DECRYPT" in error.reason or "PASSWORD" in error.reason or "CIPHERFINAL" in error.reason:
        return f"not PEM, or {password} does not open it"
    return f"not a certificate and its key in PEM ({error.reason})"


def client_context(
    ca: str | None = None, own: KeyFiles | None = None, *, verify: bool = True, check_host_name: bool = True
) -> ssl.SSLContext:
    """For whoever calls. `ca` is a file of authorities, else the system's count; `own` is shown to servers that ask."""
    context = ssl.create_default_context()
    if ca:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _trust(context, ca, "certificates to trust")
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify or not check_host_name:
        context.check_hostname = False
    if not verify:
        context.verify_mode = ssl.CERT_NONE
    if own is not None:
        own.load_into(context)
    return context


def server_context(own: KeyFiles, auth: ClientAuth = ClientAuth.none, trust: str = "") -> ssl.SSLContext:
    """For whoever listens. Clients' certificates are judged by the authorities in `trust`, else by the system's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    own.load_into(context)
    if auth is not ClientAuth.none:
        if trust:
            _trust(context, trust, "tls.server.trustCertPath")
        else:
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    context.verify_mode = _VERIFY[auth]
    return context


def _trust(context: ssl.SSLContext, path: str, what: str) -> None:
    try:
        context.load_verify_locations(_path(path))
    except ssl.SSLError:
        raise ConfigError(f"{what} {path}: no certificate in PEM") from None
    except OSError as error:
        raise ConfigError(f"{what} {path}: {error.strerror or error}") from None


def _path(text: str) -> str:
    return str(Path(text).expanduser())


def configured_server(config: TlsConfig) -> ssl.SSLContext:
    """The context of a server whose settings name a certificate, or ask for a made-up one."""
    auth, trust = config.tls_server_need_client_auth, config.tls_server_trust_cert_path
    if config.tls_test_mode_enable:
        return _made_up()
    if auth is not ClientAuth.none and not trust and not config.tls_server_auth_client:
        raise ConfigError(
            f"tls.server.need.client.auth={auth.name}: nobody vouches for clients; tls.server.trustCertPath names "
            "authorities, and tls.server.authClient=true takes the system's"
        )
    return server_context(server_files(config), auth, trust)


def _made_up() -> ssl.SSLContext:
    """With a certificate that nobody vouches for: it keeps listeners out, and no one who sits between."""
    import tempfile

    from sprocketmq.certificates import make_authority

    with tempfile.TemporaryDirectory() as folder:
        own = make_authority("SprocketMQ test mode", days=3650).write(Path(folder), "made-up")
        return server_context(KeyFiles(str(own.cert), str(own.key)))


def configured_client(config: TlsConfig) -> ssl.SSLContext:
    """The context for what a server calls itself."""
    verify = config.tls_client_auth_server and not config.tls_test_mode_enable
    trust = config.tls_client_trust_cert_path or config.tls_server_trust_cert_path
    return client_context(
        trust if verify else None, client_files(config), verify=verify,
        check_host_name=config.tls_client_check_host_name,
    )  # fmt: skip


def server_files(config: TlsConfig) -> KeyFiles:
    names = ("tls.server.certPath", "tls.server.keyPath", "tls.server.keyPassword")
    return KeyFiles(config.tls_server_cert_path, config.tls_server_key_path, config.tls_server_key_password, names)


def client_files(config: TlsConfig) -> KeyFiles | None:
    """What a server shows to those it calls: its client's certificate, if it has one."""
    names = ("tls.client.certPath", "tls.client.keyPath", "tls.client.keyPassword")
    if not config.tls_client_cert_path:
        return None
    return KeyFiles(config.tls_client_cert_path, config.tls_client_key_path, config.tls_client_key_password, names)
