"""Single messages: both headers, both serializations, oneway, chosen queues, keys and tags, how properties are kept."""

from __future__ import annotations

from tests.corpus.model import Scene, Step, Value, both
from tests.corpus.scenes.common import KEY, KEYED, ask, create_topic, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import ONEWAY, properties

_WORDS = "grüße 消息"
_ELSEWHERE = properties(UNIQ_KEY=KEY, CLUSTER="elsewhere", TRACE_ON="false")
_FEWEST: dict[str, Value] = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 1, "f": 0, "g": 1, "h": 0}
_KEYS = properties(UNIQ_KEY=KEY, KEYS="order-1 order-2", TAGS="A")

_STEPS: list[Step] = [
    *both(send("to a new topic", topic="New")),
    create_topic("the topic", "T"),
    *both(send("plain")),
    *both(send_v1("plain, long names")),
    *both(send("with a tag", properties=properties(UNIQ_KEY=KEY, TAGS="A"))),
    *both(send("with keys", properties=_KEYS)),
    *both(send_v1("with keys, long names", properties=_KEYS)),
    *both(send("keys with other white space", properties=properties(UNIQ_KEY=KEY, KEYS="a\tb c\u3000d  e"))),
    *both(send("with properties of its own", properties=properties(UNIQ_KEY=KEY, WAIT="true", colour="blue"))),
    *both(send("with text beyond ascii", _WORDS.encode(), properties=properties(UNIQ_KEY=KEY, note=_WORDS))),
    *both(send("with an open end", properties=KEYED.removesuffix("\x02"))),
    *both(send("with the same property twice", properties=KEYED + properties(a="1") + properties(a="2"))),
    *both(send("with an empty value", properties=properties(UNIQ_KEY=KEY, empty=""))),
    *both(send("with the region of another broker", properties=properties(UNIQ_KEY=KEY, MSG_REGION="elsewhere"))),
    *both(send("with a cluster of its own", properties=_ELSEWHERE)),
    *both(send("without a unique key", properties=properties(TAGS="A"))),
    *both(send_v1("without a unique key, long names", properties=properties(TAGS="A"))),
    *both(send("without properties", properties=None)),
    *both(send("with empty properties", properties="")),
    *both(send_v1("without properties, long names", properties=None)),
    *both(send("not waiting", properties=properties(UNIQ_KEY=KEY, WAIT="false"))),
    *both(send("with an empty body", b"")),
    *both(send("with a large body", b"x" * 5000)),
    *both(send("with a flag", message_flag=7)),
    *both(send("compressed", b"\x78\x9c\x4b\xca\x4f\xa9\x04\x00\x04\x4d\x01\xac", sys_flag=1)),
    *both(send("with several tags", properties=properties(UNIQ_KEY=KEY, TAGS="A||B"), sys_flag=2)),
    *both(send("to the last queue", queue_id=3)),
    *both(send("to any queue", queue_id=-1)),
    *both(send_v1("to any queue, long names", queue_id=-1)),
    *both(send("to any queue without a unique key", queue_id=-1, properties=None)),
    *both(send("tried before", reconsumed=2)),
    *both(send("with a number as text", more={"g": "0001700000000000"})),
    *both(send("of a client before batches", version=1)),
    *both(send("with the name of another broker", more={"n": "broker-z"})),
    send("oneway, json", flag=ONEWAY, properties=properties(UNIQ_KEY=KEY, TAGS="oneway")),
    ask("oneway with the fewest fields, json", Code.SEND_MESSAGE_V2, {**_FEWEST, "i": KEYED}, b"oneway", flag=ONEWAY),
    ask("oneway with the fewest fields, binary", Code.SEND_MESSAGE_V2, {**_FEWEST, "i": KEYED}, b"oneway",
        flag=ONEWAY, binary=True),
    *both(ask("with the fewest fields", Code.SEND_MESSAGE_V2, _FEWEST, b"fewest")),
    *both(send("to a topic that two queues have", topic="Two", more={"d": 2})),
    *both(send("as tools send", group="CLIENT_INNER_PRODUCER")),
    *both(pull("first two of the queue", count=2)),
    pull("rest of the queue", 2, count=100),
    pull("queue of the oneway messages", queue_id=1),
    *both(ask("by key", Code.QUERY_MESSAGE, {
        "topic": "T", "key": "order-1", "maxNum": 2, "beginTimestamp": 0, "endTimestamp": 9_999_999_999_999,
    })),
    ask("by unique key", Code.QUERY_MESSAGE, {
        "topic": "T", "key": KEY, "maxNum": 1, "beginTimestamp": 0, "endTimestamp": 9_999_999_999_999,
        "_UNIQUE_KEY_QUERY": "true",
    }),
    ask("by a key that is not there", Code.QUERY_MESSAGE, {
        "topic": "T", "key": "nothing", "maxNum": 2, "beginTimestamp": 0, "endTimestamp": 9_999_999_999_999,
    }),
    *both(ask("by its place", Code.VIEW_MESSAGE_BY_ID, {"topic": "T", "offset": 0})),
    ask("by a place without a message", Code.VIEW_MESSAGE_BY_ID, {"topic": "T", "offset": 7}),
]  # fmt: skip
SCENE = Scene("send", tuple(_STEPS))
