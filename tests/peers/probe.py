"""One remoting request over a plain socket, written apart from the code under test: it tells when a server is ready."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

GET_ROUTEINFO_BY_TOPIC = 105
GET_REPLICA_INFO = 1004
GET_METADATA_INFO = 1005
_ANY_REQUEST_CODE = 59_999
_READY_S = 3.0  # one that is not ready may take a connection and never look at it: it is asked again
_LENGTHS = struct.Struct(">II")


def ask(
    address: str, code: int, fields: dict[str, str] | None = None, body: bytes = b"", timeout: float = 60
) -> tuple[int, bytes]:
    """The response code and body that `address` answers to a request with JSON headers."""
    answer, content = exchange(address, code, fields, body, timeout)
    return int(answer["code"]), content


def exchange(
    address: str, code: int, fields: dict[str, str] | None = None, body: bytes = b"", timeout: float = 60
) -> tuple[dict[str, Any], bytes]:
    """The same with the whole header of the answer."""
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
    return json.loads(frame[:header_end]), frame[header_end:]


def leads(controller: str) -> bool:
    """Whether a controller says that it leads."""
    try:
        answer, _ = exchange(controller, GET_METADATA_INFO, timeout=_READY_S)
    except (OSError, EOFError):
        return False
    return bool(answer.get("extFields", {}).get("isLeader") == "true")


def reign(controller: str, broker_name: str) -> tuple[str, frozenset[int]] | None:
    """The master's address of a broker set and who is in sync; None while there is no master."""
    try:
        answer, body = exchange(controller, GET_REPLICA_INFO, {"brokerName": broker_name}, timeout=_READY_S)
    except (OSError, EOFError):
        return None
    address = answer.get("extFields", {}).get("masterAddress")
    return (address, frozenset(json.loads(body)["syncStateSet"])) if address and body else None


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
