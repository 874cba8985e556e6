"""Certificates for development: an authority, and what it vouches for. Needs the extra `certs`.

Keys are P-256 in PKCS#8 PEM, which Java, Go and OpenSSL read; their files are readable by their owner alone. A server's
certificate serves no client's purpose nor the other way round, so that a client cannot pose as a broker.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sprocketmq.atomic_file import LocalFiles, replace_file
from sprocketmq.errors import ConfigError
from sprocketmq.extras import need

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

#: Clocks of two machines differ.
_SKEW = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class PemFiles:
    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey

    def pem(self) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding

        return self.certificate.public_bytes(Encoding.PEM)

    def key_pem(self, password: str = "") -> bytes:
        from cryptography.hazmat.primitives import serialization

        lock: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            lock = serialization.BestAvailableEncryption(password.encode())
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)

    def write(self, folder: Path, name: str, password: str = "") -> PemFiles:
        """`NAME.pem` and `NAME.key` in the folder."""
        files = PemFiles(folder / f"{name}.pem", folder / f"{name}.key")
        replace_file(files.key, self.key_pem(password), LocalFiles(0o600))
        replace_file(files.cert, self.pem(), LocalFiles(0o644))
        return files


def make_authority(name: str, *, days: int) -> Issued:
    need("making certificates", "cryptography", "certs")
    from cryptography import x509

    key = _new_key()
    usage = _usage(key_cert_sign=True, crl_sign=True)
    draft = _draft(name, key, days).issuer_name(_subject(name))
    draft = draft.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(draft.add_extension(usage, critical=True), key, key)


def make_server(authority: Issued, names: Sequence[str], *, days: int) -> Issued:
    """For every one of `names`: hosts and addresses."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
    key = _new_key()
    draft = _draft(names[0], key, days).add_extension(alternatives, critical=False)
    return _leaf(draft, key, authority, ExtendedKeyUsageOID.SERVER_AUTH)


def make_client(authority: Issued, name: str, *, days: int) -> Issued:
    """`name` is who shows it."""
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = _new_key()
    return _leaf(_draft(name, key, days), key, authority, ExtendedKeyUsageOID.CLIENT_AUTH)


def read_issued(cert: Path, key: Path) -> Issued:
    need("making certificates", "cryptography", "certs")
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        certificate = x509.load_pem_x509_certificate(cert.read_bytes())
        private = load_pem_private_key(key.read_bytes(), None)
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from None
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{cert}, {key}: {error}") from None
    if not isinstance(private, EllipticCurvePrivateKey):
        raise ConfigError(f"{key}: not a key of `sprocket certs init`")
    return Issued(certificate, private)


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _subject(name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    except ValueError as error:
        raise ConfigError(f"{name!r} is no name for a certificate: {error}") from None


def _alternative(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError:
        raise ConfigError(f"{name!r} is neither a host name nor an address") from None


def _draft(name: str, key: EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)
    draft = x509.CertificateBuilder(
        subject_name=_subject(name), public_key=key.public_key(), serial_number=x509.random_serial_number(),
        not_valid_before=now - _SKEW, not_valid_after=now + datetime.timedelta(days=days),
    )  # fmt: skip
    return draft.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _leaf(
    draft: x509.CertificateBuilder, key: EllipticCurvePrivateKey, authority: Issued, purpose: x509.ObjectIdentifier
) -> Issued:
    from cryptography import x509

    issuer = authority.certificate
    draft = draft.issuer_name(issuer.subject)
    draft = draft.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    draft = draft.add_extension(_usage(digital_signature=True), critical=True)
    draft = draft.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return _signed(draft.add_extension(by, critical=False), key, authority.key)


def _usage(**allowed: bool) -> x509.KeyUsage:
    from cryptography import x509

    every = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return x509.KeyUsage(**{each: allowed.get(each, False) for each in every})


def _signed(draft: x509.CertificateBuilder, key: EllipticCurvePrivateKey, by: EllipticCurvePrivateKey) -> Issued:
    from cryptography.hazmat.primitives import hashes

    return Issued(draft.sign(by, hashes.SHA256()), key)


def described(file: Path) -> list[dict[str, Any]]:
    """The certificates in a file: whose they are, who vouches, and until when."""
    need("looking at certificates", "cryptography", "certs")
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificates(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{file}: no certificate in PEM") from None
    return [_row(file, each) for each in found]


def _row(file: Path, certificate: x509.Certificate) -> dict[str, Any]:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    extensions, end = certificate.extensions, certificate.not_valid_after_utc
    names: list[str] = []
    use = "any"
    for each in extensions:
        value = each.value
        if isinstance(value, x509.SubjectAlternativeName):
            names = [str(name.value) for name in value]
        elif isinstance(value, x509.BasicConstraints) and value.ca:
            use = "authority"
        elif isinstance(value, x509.ExtendedKeyUsage):
            known = {ExtendedKeyUsageOID.SERVER_AUTH: "server", ExtendedKeyUsageOID.CLIENT_AUTH: "client"}
            use = "+".join(known[usage] for usage in value if usage in known) or "other"
    return {
        "file": str(file), "name": _common_name(certificate.subject), "use": use, "names": ", ".join(names),
        "issuer": _common_name(certificate.issuer), "until": end.strftime("%Y-%m-%d"),
        "days_left": (end - datetime.datetime.now(datetime.UTC)).days,
    }  # fmt: skip


def _common_name(name: x509.Name) -> str:
    from cryptography.x509.oid import NameOID

    return ", ".join(str(each.value) for each in name.get_attributes_for_oid(NameOID.COMMON_NAME))
