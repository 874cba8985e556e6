"""Batches: with and without unique keys, as Java's client, our own and Spark's writer send them, and broken ones."""

from __future__ import annotations

from tests.corpus.model import Scene, Step, both
from tests.corpus.scenes.common import KEY, KEYED, create_topic, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import ONEWAY, batch, properties

_OTHER = KEY[:-2] + "AC"
_JAVA = batch((b"one", KEYED), (b"two", properties(UNIQ_KEY=_OTHER, TAGS="A", KEYS="k")))
_OURS = batch((b"one", properties(WAIT="true")), (b"two", properties(WAIT="true")))
_SPARK = batch((b"one", ""), (b"two", ""), (b"three", ""))
_KEYS = properties(UNIQ_KEY=f"{KEY},{_OTHER}")

_STEPS: list[Step] = [
    create_topic("the topic", "T"),
    *both(send("as Java's client", _JAVA, batch=True, properties=_KEYS)),
    *both(send("as an older Java client, by SEND_MESSAGE_V2", _JAVA, batch=True, code=Code.SEND_MESSAGE_V2)),
    *both(send_v1("as an older Java client, long names", _JAVA, batch=True)),
    *both(send("as our client", _OURS, batch=True, properties=properties(WAIT="true"))),
    *both(send("as Spark's writer", _SPARK, batch=True, properties=None)),
    *both(send("with empty properties", _SPARK, batch=True, properties="")),
    *both(send("of one message", batch((b"one", KEYED)), batch=True)),
    *both(send("with keys inside and none outside", _JAVA, batch=True, properties=None)),
    *both(send("with a key outside and none inside", _SPARK, batch=True)),
    *both(send("not waiting", _JAVA, batch=True, properties=properties(UNIQ_KEY=KEY, WAIT="false"))),
    *both(send("with flags", batch((b"one", ""), (b"two", ""), flag=9), batch=True)),
    *both(send("to any queue", _SPARK, batch=True, properties=None, queue_id=-1)),
    *both(send("to a new topic", _JAVA, batch=True, topic="New", properties=_KEYS)),
    *both(send("to a new topic without keys", _SPARK, batch=True, topic="Bare", properties=None)),
    send("oneway, json", _JAVA, batch=True, flag=ONEWAY),
    *both(send("of nothing", b"", batch=True)),
    *both(send("cut short", _JAVA[:-3], batch=True)),
    *both(send("with a wrong size", b"\0\0\0\x05" + _JAVA[4:], batch=True)),
    *both(send("that is no batch", b"just a body", batch=True)),
    *both(send("with a delay", _JAVA, batch=True, properties=properties(UNIQ_KEY=KEY, DELAY="3"))),
    *both(send("with a delay inside", batch((b"one", properties(DELAY="3"))), batch=True, properties=None)),
    *both(
        send("of half messages", _JAVA, batch=True, properties=properties(UNIQ_KEY=KEY, TRAN_MSG="true"), sys_flag=4)
    ),
    *both(send("to a retry topic", _JAVA, batch=True, topic="%RETRY%G", properties=_KEYS)),
    *both(send("to a queue that is not there", _JAVA, batch=True, queue_id=9)),
    *both(send("that is too large", batch(*[(b"x" * 100_000, "")] * 42), batch=True, properties=None)),
    *both(pull("first two", count=2)),
    pull("the rest", 2, count=100),
    pull("the new topic", topic="New"),
]
SCENE = Scene("batch", tuple(_STEPS))
