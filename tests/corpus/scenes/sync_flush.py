"""A broker that answers a send when it is on the disk; `WAIT=false` does not wait for that."""

from __future__ import annotations

from tests.corpus.model import Scene, Step, both
from tests.corpus.scenes.common import KEY, create_topic, pull, send, send_v1
from tests.corpus.wire import batch, properties

_SERVERS = {"broker-a": {"flushDiskType": "SYNC_FLUSH"}}
_NOT_WAITING = properties(UNIQ_KEY=KEY, WAIT="false")

_STEPS: list[Step] = [
    create_topic("the topic", "T"),
    *both(send("plain")),
    *both(send_v1("plain, long names")),
    *both(send("without a unique key", properties=None)),
    *both(send("to any queue", queue_id=-1)),
    *both(send("to a new topic", topic="New")),
    *both(send("batch", batch((b"one", ""), (b"two", "")), batch=True)),
    *both(send("batch without a unique key", batch((b"one", ""), (b"two", "")), batch=True, properties=None)),
    *both(send("not waiting", properties=_NOT_WAITING)),
    *both(send("batch not waiting", batch((b"one", ""), (b"two", "")), batch=True, properties=_NOT_WAITING)),
    *both(send("half message", sys_flag=4, properties=properties(UNIQ_KEY=KEY, TRAN_MSG="true", PGROUP="PG"))),
    *both(send("by a delay level", properties=properties(UNIQ_KEY=KEY, DELAY="1"))),
    *both(send("refused", queue_id=9)),
    *both(pull("all that")),
]
SCENE = Scene("sync_flush", tuple(_STEPS), _SERVERS)
