"""Many requests in one read, and one request in many reads.

Answers leave in the order of their requests; those that wait for something come when it has come.
"""

from __future__ import annotations

from tests.corpus.model import Burst, Request, Scene, Step, both
from tests.corpus.scenes.common import KEY, ask, create_topic, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import ONEWAY, batch, properties

_BATCH = batch((b"one", ""), (b"two", ""))


def _mixed(name: str) -> tuple[Request, ...]:
    return (
        *both(send(f"{name}: plain")),
        *both(send(f"{name}: without a unique key", properties=None)),
        *both(send(f"{name}: batch", _BATCH, batch=True, properties=None)),
        *both(send(f"{name}: refused", queue_id=9)),
        *both(send(f"{name}: delayed", properties=properties(UNIQ_KEY=KEY, DELAY="1"))),
        *both(send_v1(f"{name}: long names", queue_id=-1)),
        send(f"{name}: oneway", flag=ONEWAY),
        *both(pull(f"{name}: pull", count=2)),
        *both(pull(f"{name}: pull by a tag", expression="A")),
        *both(pull(f"{name}: pull refused", topic="Nothing")),
        *both(ask(f"{name}: max", Code.GET_MAX_OFFSET, {"topic": "T", "queueId": 0})),
        ask(f"{name}: unknown code", 9999, {}),
        *both(send(f"{name}: to a new topic", topic=f"New-{len(name)}")),
        *both(send(f"{name}: plain again")),
    )


_PARKED = pull("parked", 0, topic="T", queue_id=3, sys_flag=6)
_STEPS: list[Step] = [
    create_topic("the topic", "T"),
    Burst("in one read", _mixed("one read")),
    Burst("byte by byte", _mixed("byte by byte"), read_size=1),
    Burst("in reads of 100 bytes", _mixed("reads of 100 bytes"), read_size=100),
    Burst("parked and served in one read", (_PARKED, send("for the parked one", queue_id=3), send("for nobody"))),
    Burst("sends of one topic", tuple(step for number in range(20) for step in both(send(f"number {number}")))),
    pull("all that", 2, count=4),
]
SCENE = Scene("burst", tuple(_STEPS))
