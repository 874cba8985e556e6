"""What our brokers and our controller say to each other in the controller's requests, beyond RocketMQ's own fields.

They stand in `extFields` beside those of `headers/controller.py`. Java's brokers and controllers neither send nor miss
them, and whoever finds them absent does what RocketMQ does.
"""

from __future__ import annotations

from dataclasses import dataclass

from sprocketmq.protocol.fields import Long, wire


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFields:
    """In 1003 CONTROLLER_REGISTER_BROKER: of the broker that registers.

    `unclean_boot`: the machine started anew since the broker last ran, and the broker had not stopped cleanly: bytes
    that it acknowledged and never synced may be gone. A broker that syncs before it acknowledges need not say so.
    `epoch` and `max_offset` are those of its heartbeats: where its log ends now.
    """

    broker_ha_address: str | None = wire("brokerHaAddress", default=None)
    unclean_boot: bool = wire("uncleanBoot", default=False)
    epoch: int | None = wire("epoch", default=None)
    max_offset: Long | None = wire("maxOffset", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseFields:
    """In 1004 CONTROLLER_GET_REPLICA_INFO: who asks from where, and for how long it wants to be left in its role.

    Whose id is another's by now, or nobody's, is refused: it has to register again.

    The answer repeats `leaseMillis` when the master was granted it; the controller then elects no other for so long,
    unless the master's connection closes or it asks for 0, which gives the lease back.
    """

    broker_id: Long | None = wire("brokerId", default=None)
    address: str | None = wire("brokerAddress", default=None)
    lease_millis: Long | None = wire("leaseMillis", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterFields:
    """In the answers to 1002, 1003 and 1004 and in notice 1008: where the master takes replicas; its lease."""

    master_ha_address: str | None = wire("masterHaAddress", default=None)
    lease_millis: Long | None = wire("leaseMillis", default=None)
