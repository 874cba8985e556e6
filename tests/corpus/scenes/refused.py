"""Sends that are refused, requests that are malformed, and frames that are none."""

from __future__ import annotations

from tests.corpus.model import Scene, Step, both
from tests.corpus.scenes.common import KEY, KEYED, ask, create_topic, pull, send, send_v1
from tests.corpus.servers import Code
from tests.corpus.wire import frame, properties

_SERVERS = {"broker-a": {"autoCreateTopicEnable": "false", "maxMessageSize": "10000"}}

_SENDS: list[Step] = [
    create_topic("the topic", "T", read=4, write=2),
    create_topic("topic that is only read", "ReadOnly", perm=4),
    create_topic("topic that is closed", "Closed", perm=0),
    *both(send("to an unknown topic", topic="Nothing")),
    *both(send_v1("to an unknown topic, long names", topic="Nothing")),
    *both(send("to an unknown topic with an unknown model", topic="Nothing", model="NoModel")),
    *both(send("to a topic that is only read", topic="ReadOnly")),
    *both(send_v1("to a topic that is only read, long names", topic="ReadOnly")),
    *both(send("to a closed topic", topic="Closed")),
    *both(send("to a queue that is not there", queue_id=2)),
    *both(send("to a queue far away", queue_id=2_000_000_000)),
    *both(send("to a queue below minus one", queue_id=-7)),
    *both(send("too large", b"x" * 10_001)),
    *both(send_v1("too large, long names", b"x" * 10_001)),
    *both(send("as large as may be", b"x" * 10_000)),
    *both(send("with too many properties", properties=properties(UNIQ_KEY=KEY, long="x" * 40_000))),
    *both(send("to a topic of the system", topic="SCHEDULE_TOPIC_XXXX")),
    *both(send("to the half messages", topic="RMQ_SYS_TRANS_HALF_TOPIC")),
    *both(send("to the model of new topics", topic="TBW102")),
    *both(send("to a topic without a name", topic="")),
    *both(send("to a topic with a bad name", topic="a/b")),
    *both(send("to a topic with a long name", topic="x" * 200)),
    *both(send("to an unknown retry topic", topic="%RETRY%Unknown")),
    *both(send("with a queue that is no number", queue_id="one")),
    *both(send("with a queue that is too large a number", queue_id=1 << 40)),
    *both(send("with a time that is no number", more={"g": ""})),
    *both(send("with a switch that is none", more={"m": "perhaps"})),
    *both(ask("without a topic", Code.SEND_MESSAGE_V2, {"a": "PG"}, b"body")),
    *both(ask("without a topic, long names", Code.SEND_MESSAGE, {"producerGroup": "PG"}, b"body")),
    *both(ask("without fields", Code.SEND_MESSAGE_V2, None, b"body")),
    *both(ask("with a field too many", Code.SEND_MESSAGE_V2, {
        "a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0, "i": KEYED, "zz": "?"}, b"body")),
    pull("what was taken after all", count=100),
]  # fmt: skip
_LIMITS: list[Step] = [
    ask("broker not writable", Code.UPDATE_BROKER_CONFIG, {}, b"brokerPermission=4\n"),
    *both(send("to a broker that is not writable")),
    ask("broker not readable", Code.UPDATE_BROKER_CONFIG, {}, b"brokerPermission=2\n"),
    *both(pull("from a broker that is not readable")),
    *both(send("to a broker that is not readable")),
    ask("broker as before", Code.UPDATE_BROKER_CONFIG, {}, b"brokerPermission=6\n"),
    ask("sends from a later time on", Code.UPDATE_BROKER_CONFIG, {},
        b"startAcceptSendRequestTimeStamp=1800000000000\n"),
    *both(send("before that time")),
    ask("sends from now on", Code.UPDATE_BROKER_CONFIG, {}, b"startAcceptSendRequestTimeStamp=0\n"),
    *both(send("after that time")),
    ask("new topics allowed", Code.UPDATE_BROKER_CONFIG, {}, b"autoCreateTopicEnable=true\n"),
    *both(send("to an unknown topic, now allowed", topic="Now")),
]  # fmt: skip
_FRAMES: list[Step] = [
    *both(ask("unknown code", 9999, {"a": "b"})),
    *both(ask("code of a nameserver", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})),
    *both(ask("code of a client", Code.CHECK_TRANSACTION_STATE, {})),
    *both(ask("answer that nobody waits for", 0, {}, flag=1)),
    ask("header that is no JSON", 0, raw=frame(b"{nonsense", b"", 0), on="x1"),
    ask("header without a code", 0, raw=frame(b'{"opaque":5}', b"", 0), on="x2"),
    ask("binary header cut short", 0, raw=frame(b"\0\x0a", b"", 1), on="x3"),
    ask("unknown serialization", 0, raw=frame(b"{}", b"", 7), on="x4"),
    ask("frame that is too large", 0, raw=b"\x7f\xff\xff\xff\0\0\0\0", on="x5"),
    ask("header longer than its frame", 0, raw=b"\0\0\0\x08\0\0\0\x63{}{}", on="x6"),
    ask("fields that are no text", 0,
        raw=frame(b'{"code":10,"opaque":5,"flag":0,"extFields":{"topic":5}}', b"", 0), on="x7"),
    ask("half a frame", 0, raw=b"\0\0\0\x20\0", on="x8"),
]  # fmt: skip
SCENE = Scene("refused", tuple(_SENDS + _LIMITS + _FRAMES), _SERVERS)
