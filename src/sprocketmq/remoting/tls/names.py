"""What TLS says of a peer, in words: the name that its certificate carries, and why a handshake failed."""

from __future__ import annotations

import ssl
from typing import Any


def certificate_name(tls: ssl.SSLObject | ssl.SSLSocket) -> str | None:
    """The common name of a certificate that was verified, else the first of its alternative names; None without one."""
    found: Any = tls.getpeercert()
    if not found:  # none was shown, or none was asked for
        return None
    subject = dict(pair for part in found.get("subject", ()) for pair in part)
    if name := subject.get("commonName"):
        return str(name)
    return next((str(value) for _kind, value in found.get("subjectAltName", ())), None)


def reason_of(failure: Exception) -> str:
    """OpenSSL's reason without the numbers of its lines; the text of another error."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {failure.verify_message}"
    reason = failure.reason if isinstance(failure, ssl.SSLError) else None
    return reason.lower().replace("_", " ") if reason else str(failure)
