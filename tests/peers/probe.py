"""One remoting request over a plain socket, written apart from the code under test: it tells when a server is ready."""

from __future__ import annotations

import json
import socket
import struct

GET_ROUTEINFO_BY_TOPIC = 105
_ANY_REQUEST_CODE = 59_999
_READY_S = 3.0  # one that is not ready may take a connection and never look at it: it is asked again
_LENGTHS = struct.Struct(">II")


def ask(
    address: str, code: int, fields: dict[str, str] | None = None, body: bytes = b"", timeout: float = 60
) -> tuple[int, bytes]:
    """The response code and body that `address` answers to a request with JSON headers."""
    header = json.dumps(
        {"code": code, "language": "JAVA", "version": 399, "opaque": 1, "flag": 0, "extFields": fields or {}}
    ).encode()
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout) as peer:
        peer.sendall(_LENGTHS.pack(4 + len(header) + len(body), len(header)) + header + body)
        with peer.makefile("rb") as answer:
            length, head = _LENGTHS.unpack(_exactly(answer.read(8), 8))
            frame = _exactly(answer.read(length - 4), length - 4)
    header_end = head & 0xFFFFFF
    return int(json.loads(frame[:header_end])["code"]), frame[header_end:]


def answers(address: str) -> bool:
    """Whether the server reads a request and replies to it, whatever the reply."""
    try:
        ask(address, _ANY_REQUEST_CODE, timeout=_READY_S)
    except (OSError, EOFError):
        return False
    return True


def routes_to(nameserver: str, broker: str, topic: str = "TBW102") -> bool:
    """Whether the nameserver gives `broker` in the route of `topic`."""
    try:
        code, body = ask(nameserver, GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, timeout=_READY_S)
    except (OSError, EOFError):
        return False
    return code == 0 and f'"{broker}"'.encode() in body


def _exactly(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise EOFError(f"the peer closed after {len(data)} of {size} bytes")
    return data
