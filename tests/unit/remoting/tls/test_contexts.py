from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from tests.certificates import KEY_PASSWORD, Certificates

from sprocketmq.config import from_properties
from sprocketmq.errors import ConfigError
from sprocketmq.remoting.tls.config import TlsConfig
from sprocketmq.remoting.tls.contexts import KeyFiles, client_context, configured_client, configured_server


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost") -> ssl.SSLObject:
    """The client's end of a connection in memory; raises what went wrong."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    called = server.wrap_bio(there, back, server_side=True)
    caller = client.wrap_bio(back, there, server_hostname=name)
    waiting = [caller, called]
    for _ in range(10):
        for end in tuple(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                continue
    assert not waiting
    return caller


def serving(certificates: Certificates, **keys: str) -> ssl.SSLContext:
    return configured_server(from_properties(TlsConfig, certificates.server_keys(**keys)))


def calling(**keys: str) -> ssl.SSLContext:
    return configured_client(from_properties(TlsConfig, {k.replace("_", "."): v for k, v in keys.items()}))


def test_what_a_server_calls_must_prove_itself(certificates: Certificates) -> None:
    server = serving(certificates)
    assert shake_hands(server, calling(tls_client_trustCertPath=str(certificates.ca))).version() == "TLSv1.3"
    assert shake_hands(server, calling(tls_server_trustCertPath=str(certificates.ca)))
    for wrong in ({}, {"tls_client_trustCertPath": str(certificates.stranger_ca)}):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(server, calling(**wrong))


def test_its_certificate_must_name_the_address(certificates: Certificates) -> None:
    server, trust = serving(certificates), str(certificates.ca)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(server, calling(tls_client_trustCertPath=trust), "elsewhere")
    lenient = calling(tls_client_trustCertPath=trust, tls_client_checkHostName="false")
    assert shake_hands(server, lenient, "elsewhere")
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, calling(tls_client_trustCertPath=str(certificates.stranger_ca),
                                    tls_client_checkHostName="false"), "elsewhere")  # fmt: skip


def test_a_client_cannot_pose_as_a_server(certificates: Certificates) -> None:
    posing = configured_server(
        TlsConfig(tls_server_cert_path=str(certificates.client.cert), tls_server_key_path=str(certificates.client.key))
    )
    lenient = calling(tls_client_trustCertPath=str(certificates.ca), tls_client_checkHostName="false")
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        shake_hands(posing, lenient)


def test_everybody_is_believed_by_order_only(certificates: Certificates) -> None:
    assert shake_hands(serving(certificates), calling(tls_client_authServer="false"), "elsewhere")
    assert shake_hands(serving(certificates), calling(tls_test_mode_enable="true"), "elsewhere")


def test_test_mode_makes_a_certificate_up(certificates: Certificates) -> None:
    made_up = configured_server(TlsConfig(tls_test_mode_enable=True))
    assert shake_hands(made_up, client_context(verify=False))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(made_up, client_context(str(certificates.ca)))


def test_an_encrypted_key(certificates: Certificates) -> None:
    keys = {"tls_server_keyPath": str(certificates.locked.key)}
    assert shake_hands(serving(certificates, **keys, tls_server_keyPassword=KEY_PASSWORD), certificates.caller())
    with pytest.raises(ConfigError, match=r"tls.server.keyPath .*locked.key: it is encrypted, and there is no tls"):
        serving(certificates, **keys)
    with pytest.raises(ConfigError, match=r"tls.server.keyPassword does not open it") as caught:
        serving(certificates, **keys, tls_server_keyPassword="a-wrong-one")
    assert "a-wrong-one" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"tls_server_certPath": "/nowhere/cert.pem"}, "tls.server.certPath /nowhere/cert.pem.*No such file"),
        ({"tls_server_keyPath": "{client}"}, "client.key: not the key of tls.server.certPath"),
        ({"tls_server_certPath": "{junk}"}, "not a certificate and its key in PEM|not PEM"),
        ({"tls_server_need_client_auth": "require"}, "tls.server.need.client.auth=require: nobody vouches"),
        ({"tls_server_need_client_auth": "optional", "tls_server_trustCertPath": "{junk}"}, "trustCertPath .*junk"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    certificates: Certificates, tmp_path: Path, keys: dict[str, str], said: str
) -> None:
    (tmp_path / "junk").write_text("junk")
    names = {"client": certificates.client.key, "junk": tmp_path / "junk"}
    with pytest.raises(ConfigError, match=said) as caught:
        serving(certificates, **{key: value.format(**names) for key, value in keys.items()})
    assert "\n" not in str(caught.value)


def test_the_systems_authorities_count_by_order(certificates: Certificates) -> None:
    server = serving(certificates, tls_server_need_client_auth="require", tls_server_authClient="true")
    assert server.verify_mode is ssl.CERT_REQUIRED


def test_a_password_is_shown_nowhere(certificates: Certificates) -> None:
    assert KEY_PASSWORD not in repr(KeyFiles("cert", "key", KEY_PASSWORD))


def test_old_versions_are_off(certificates: Certificates) -> None:
    for context in (serving(certificates), client_context(), client_context(str(certificates.ca))):
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
