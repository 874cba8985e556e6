"""Which queues of a topic belong to which consumer of a group.

Every member computes the same table from the same sorted queues and sorted client ids, so no member needs to ask
another. Java, Go and Python members of one group must agree to the last queue; the golden cases hold us to it.
A consumer that is not among the ids owns nothing.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from hashlib import md5
from typing import Protocol

from sprocketmq.protocol.message_queue import MessageQueue


class Allocation(Protocol):
    """A strategy. `name` is what brokers and other clients call it."""

    @property
    def name(self) -> str: ...

    def __call__(self, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> list[MessageQueue]:
        """The queues of `client_id`; both sequences come sorted."""
        ...


class Averagely:
    """Contiguous shares; the first members take one more when it does not divide."""

    name = "AVG"

    def __call__(self, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> list[MessageQueue]:
        if client_id not in clients:
            return []
        index = clients.index(client_id)
        share, rest = divmod(len(queues), len(clients))
        start = index * share + min(index, rest)
        return list(queues[start : start + share + (index < rest)])


AVERAGELY = Averagely()


class AveragelyByCircle:
    """Queues dealt out one by one, like cards."""

    name = "AVG_BY_CIRCLE"

    def __call__(self, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> list[MessageQueue]:
        if client_id not in clients:
            return []
        return list(queues[clients.index(client_id) :: len(clients)])


class ConsistentHash:
    """A ring of virtual nodes: when a member joins or leaves, few queues move."""

    name = "CONSISTENT_HASH"

    def __init__(self, virtual_nodes: int = 10, hash_function: Callable[[str], int] | None = None) -> None:
        if virtual_nodes < 1:
            raise ValueError(f"virtual_nodes must be positive, not {virtual_nodes}")
        self._virtual_nodes = virtual_nodes
        self._hash = hash_function or _md5_head

    def __call__(self, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> list[MessageQueue]:
        if client_id not in clients:
            return []
        ring = {self._hash(f"{client}-{i}"): client for client in clients for i in range(self._virtual_nodes)}
        points = sorted(ring)
        return [queue for queue in queues if ring[self._point(points, queue)] == client_id]

    def _point(self, points: list[int], queue: MessageQueue) -> int:
        key = f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"
        at = bisect.bisect_left(points, self._hash(key))
        return points[at % len(points)]


class MachineRoom:
    """Only the queues of brokers named `room@name` in one of `rooms`, in shares with the remainder dealt at the end."""

    name = "MACHINE_ROOM"

    def __init__(self, rooms: Sequence[str]) -> None:
        self._rooms = frozenset(rooms)

    def __call__(self, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> list[MessageQueue]:
        if client_id not in clients:
            return []
        near = [queue for queue in queues if self._is_near(queue.broker_name)]
        share, rest = divmod(len(near), len(clients))
        index = clients.index(client_id)
        own = near[index * share : (index + 1) * share]
        return own + ([near[share * len(clients) + index]] if index < rest else [])

    def _is_near(self, broker_name: str) -> bool:
        room, separator, name = broker_name.partition("@")
        return bool(separator) and "@" not in name and room in self._rooms


class MachineRoomNearby:
    """Queues go to members of their own room; a room without members is shared by all.

    `room_of_broker` and `room_of_client` tell where a broker name and a client id live.
    """

    def __init__(
        self, inner: Allocation, room_of_broker: Callable[[str], str], room_of_client: Callable[[str], str]
    ) -> None:
        self.name = f"MACHINE_ROOM_NEARBY-{inner.name}"
        self._inner, self._room_of_broker, self._room_of_client = inner, room_of_broker, room_of_client

    def __call__(self, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> list[MessageQueue]:
        if client_id not in clients:
            return []
        rooms: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            rooms.setdefault(self._room_of_broker(queue.broker_name), []).append(queue)
        members: dict[str, list[str]] = {}
        for client in clients:
            members.setdefault(self._room_of_client(client), []).append(client)
        own = self._room_of_client(client_id)
        allocated = self._inner(client_id, rooms.get(own, []), members[own]) if own in rooms else []
        for room in sorted(rooms.keys() - members.keys()):
            allocated += self._inner(client_id, rooms[room], clients)
        return allocated


class ByConfig:
    """A fixed list, whoever else is in the group."""

    name = "CONFIG"

    def __init__(self, queues: Sequence[MessageQueue]) -> None:
        self._queues = list(queues)

    def __call__(self, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]) -> list[MessageQueue]:
        return list(self._queues)


def _md5_head(key: str) -> int:
    """The first four bytes of the MD5 sum, as Java's ring reads them."""
    return int.from_bytes(md5(key.encode(), usedforsecurity=False).digest()[:4], "big")
