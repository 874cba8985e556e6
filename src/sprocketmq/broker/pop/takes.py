"""One take of orderly POP, and the takes of a broker as consumerOrderInfo.json holds them.

table{topic@group: {queue: take}}
take    popTime; i invisible time; o the first offset and the distances of the others from it; ot offsets that are
        hidden longer and until when; oc how often offsets were taken before; l when any were last taken or
        acknowledged (RocketMQ forgets a take a day later); cm bits of those acknowledged; a the attempt that took them
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sprocketmq.broker.tables.offsets import SEPARATOR
from sprocketmq.errors import BodyError

#: Topic, group, queue.
Key = tuple[str, str, int]


@dataclass(slots=True)
class Take:
    offsets: list[int]
    next_offset: int
    pop_time: int
    visible_ms: int
    attempt_id: str | None
    #: How often each was taken before, when it was.
    times: dict[int, int]
    touched_ms: int
    acked: set[int] = field(default_factory=set)
    later: dict[int, int] = field(default_factory=dict)
    #: By how much its times are ahead of the time that passes.
    ahead_ms: int = 0

    @property
    def open(self) -> list[int]:
        return [offset for offset in self.offsets if offset not in self.acked]

    @property
    def commit_offset(self) -> int:
        return next(iter(self.open), self.next_offset)

    @property
    def free_ms(self) -> int:
        """When all that is open is visible again, by the time that passes."""
        return max((self.later.get(offset, self.visible_ms) for offset in self.open), default=0) - self.ahead_ms


def takes_to_tree(takes: Mapping[Key, Take]) -> dict[str, Any]:
    table: dict[str, dict[int, Any]] = {}
    for (topic, group, queue_id), take in takes.items():
        table.setdefault(f"{topic}{SEPARATOR}{group}", {})[queue_id] = _to_tree(take)
    return {"table": table}


def takes_from_tree(tree: Mapping[str, Any]) -> Iterator[tuple[Key, Take]]:
    """BodyError for what is no such file."""
    try:
        for name, queues in (tree.get("table") or {}).items():
            topic, _, group = name.partition(SEPARATOR)
            for queue_id, take in queues.items():
                if take.get("o"):
                    yield (topic, group, int(queue_id)), _from_tree(take)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BodyError(f"no takes of orderly POP: {error!r}") from None


def _to_tree(take: Take) -> dict[str, Any]:
    first = take.offsets[0]
    bits = sum(1 << index for index, offset in enumerate(take.offsets) if offset in take.acked)
    tree: dict[str, Any] = {
        "cm": bits, "i": take.visible_ms - take.pop_time, "l": take.touched_ms,
        "o": [first, *(offset - first for offset in take.offsets[1:])], "oc": take.times or None,
        "ot": take.later or None, "popTime": take.pop_time,
    }  # fmt: skip
    return tree if take.attempt_id is None else {"a": take.attempt_id, **tree}


def _from_tree(tree: Mapping[str, Any]) -> Take:
    first, *distances = map(int, tree["o"])
    offsets = [first, *(first + distance for distance in distances)]
    bits, pop_time = int(tree.get("cm") or 0), int(tree["popTime"])
    return Take(
        offsets=offsets,
        next_offset=offsets[-1] + 1,
        pop_time=pop_time,
        visible_ms=pop_time + int(tree.get("i") or 0),
        attempt_id=tree.get("a"),
        times={int(offset): int(times) for offset, times in (tree.get("oc") or {}).items()},
        touched_ms=int(tree.get("l") or 0),
        acked={offset for index, offset in enumerate(offsets) if bits >> index & 1},
        later={int(offset): int(time) for offset, time in (tree.get("ot") or {}).items()},
    )
