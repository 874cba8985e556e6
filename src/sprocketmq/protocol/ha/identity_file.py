"""Who a broker is under a controller: the text of `brokerIdentity`, and of `brokerIdentity-temp` while it applies.

HaCluster#ha-a#1                                cluster#broker name#id
HaCluster#ha-a#1#127.0.0.1:10911;1763371234567  and the code by which the controller knows who applied first
"""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.errors import BodyError


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    cluster: str
    broker_name: str
    broker_id: int

    def encode(self) -> str:
        return f"{self.cluster}#{self.broker_name}#{self.broker_id}"


@dataclass(frozen=True, slots=True)
class AppliedIdentity:
    """An id that was asked for and is not ours for sure."""

    identity: BrokerIdentity
    check_code: str

    def encode(self) -> str:
        return f"{self.identity.encode()}#{self.check_code}"


def decode_identity(text: str) -> BrokerIdentity:
    return _identity(text.strip().split("#"), 3)


def decode_applied_identity(text: str) -> AppliedIdentity:
    parts = text.strip().split("#")
    return AppliedIdentity(_identity(parts, 4), parts[-1])


def _identity(parts: list[str], count: int) -> BrokerIdentity:
    if len(parts) != count or not all(parts) or not parts[2].isdecimal() or len(parts[2]) > 18:
        raise BodyError(f"{'#'.join(parts)[:200]!r} is no cluster, broker name and id")
    return BrokerIdentity(parts[0], parts[1], int(parts[2]))
