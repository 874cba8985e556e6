"""Static topics: the records that a pull of a logical queue brings, with their places in it.

Records are stored under the id and the offsets of a queue of some broker; the answer says by `offsetDelta` how those
offsets differ from the logical queue's.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from sprocketmq.protocol.bodies.route import TopicQueueMappingInfo

#: size magic body_crc queue_id flag queue_offset, as a record begins.
_HEAD = Struct(">iiiiiq")


def in_logical_queue(data: bytes, queue_id: int, offset_delta: int) -> bytes:
    """Records back to back, with the id of the logical queue and their offsets in it."""
    records = bytearray(data)
    at = 0
    while at + _HEAD.size <= len(records):
        size, magic, crc, _, flag, offset = _HEAD.unpack_from(records, at)
        if size < _HEAD.size:
            break
        _HEAD.pack_into(records, at, size, magic, crc, queue_id, flag, offset + offset_delta)
        at += size
    return bytes(records)


def leaders(mappings: Mapping[str, TopicQueueMappingInfo]) -> dict[str, tuple[int, ...]]:
    """Broker name to the logical queues that it leads; where two claim one, the later mapping counts."""
    led: dict[int, TopicQueueMappingInfo] = {}
    for info in sorted(mappings.values(), key=lambda info: info.epoch):
        led |= dict.fromkeys(info.curr_id_map, info)
    by_broker: dict[str, tuple[int, ...]] = {}
    for queue_id in sorted(led):
        name = led[queue_id].bname
        by_broker[name] = (*by_broker.get(name, ()), queue_id)
    return by_broker
