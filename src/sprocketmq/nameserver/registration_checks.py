"""What a broker says of itself, held against what can be true: it is shown to every client that asks for a route.

A name that cannot be is refused, and so is an address that nobody could call. A topic that cannot be is left out: the
broker's other topics need not suffer for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.logs import Events
from sprocketmq.nameserver.brokers import DEFAULT_EXPIRY_MS, BrokerRegistration
from sprocketmq.protocol.bodies.topic import TopicConfig
from sprocketmq.remoting.peer import parse_address

events = Events("sprocketmq.nameserver.registration")

MAX_NAME = 255
#: Brokers that are silent for longer than this are forgotten, whatever they asked for.
MAX_EXPIRY_MS = 600_000
MAX_QUEUES = 65_536
_MAX_FILTER_SERVERS = 64


def checked(coming: BrokerRegistration, peer: object) -> BrokerRegistration:
    """The registration, bounded; RequestRefused when it cannot be true."""
    for what, name in (("brokerName", coming.name), ("clusterName", coming.cluster), ("zone", coming.zone or "-")):
        if not is_name(name):
            raise _wrong(f"{what} {name[:MAX_NAME]!r} is no name")
    for what, address in (("brokerAddr", coming.address), ("haServerAddr", coming.ha_address)):
        if (address or what == "brokerAddr") and not _is_address(address):
            raise _wrong(f"{what} {address[:MAX_NAME]!r} is no address")
    if coming.broker_id < 0:
        raise _wrong("brokerId must not be negative")
    if coming.expiry_ms is not None and coming.expiry_ms <= 0:
        raise _wrong("heartbeatTimeoutMillis must be positive")
    servers = coming.filter_servers
    if len(servers) > _MAX_FILTER_SERVERS or not all(map(is_name, servers)):
        raise _wrong("the filter servers are too many, or no addresses")
    known = _known(coming.topics.topic_config_table, coming.name, peer)
    mappings = {
        topic: mapping for topic, mapping in coming.topics.topic_queue_mapping_info_map.items() if is_name(topic)
    }
    return replace(
        coming,
        expiry_ms=min(coming.expiry_ms or DEFAULT_EXPIRY_MS, MAX_EXPIRY_MS),
        topics=replace(coming.topics, topic_config_table=known, topic_queue_mapping_info_map=mappings),
    )


def is_name(text: str) -> bool:
    """Brokers are named after their machines, dots and all, and have topics of that name: not the rule for topics."""
    return 0 < len(text) <= MAX_NAME and text.isprintable() and not set(text) & set(" /\\")


def is_topic(topic: str, read_queues: int, write_queues: int) -> bool:
    return is_name(topic) and 0 <= read_queues <= MAX_QUEUES and 0 <= write_queues <= MAX_QUEUES


def _known(table: Mapping[str, TopicConfig], broker: str, peer: object) -> Mapping[str, TopicConfig]:
    wrong = [name for name, each in table.items() if not is_topic(name, each.read_queue_nums, each.write_queue_nums)]
    if not wrong:
        return table
    events.warning("topics left out", broker=broker, count=len(wrong), first=wrong[0], peer=peer)
    return {name: each for name, each in table.items() if name not in set(wrong)}


def _is_address(text: str) -> bool:
    try:
        parse_address(text)
    except ValueError:
        return False
    return is_name(text)


def _wrong(remark: str) -> RequestRefused:
    return RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
