"""What tools ask of a broker, and clients beside messages: every code of the admin plane, allowed and refused."""

from __future__ import annotations

from typing import Any

from tests.corpus.model import Close, Mask, Scene, Step, both
from tests.corpus.scenes.common import KEY, ask, create_topic, heartbeat, pull, send, send_v1, subscription
from tests.corpus.servers import Code
from tests.corpus.wire import RESPONSE, properties

_QUEUE = {"brokerName": "broker-a", "queueId": 0, "topic": "T"}
_REAL_TIME = "measured in real time"
_DISK = "the disk of this machine"
_COUNTED = "counts what the broker stores for itself and what it refuses; the statistics have tests of their own"


def _figures(reason: str, *keys: str) -> tuple[Mask, ...]:
    return tuple(Mask(b'"%s":"[^"]*"' % key.encode(), reason) for key in keys)


_RUNTIME = (
    *_figures(_REAL_TIME, "putMessageDistributeTime", "putMessageEntireTimeMax", "getMessageEntireTimeMax", "putTps",
              "getFoundTps", "getMissTps", "getTotalTps", "getTransferredTps", "getTransferedTps", "putLatency99",
              "putLatency999"),
    *_figures("a flush thread works in real time", "remainHowManyDataToFlush"),
    *_figures(_DISK, "commitLogDiskRatio[^\"]*", "consumeQueueDiskRatio", "commitLogDirCapacity"),
    *_figures(_COUNTED, "msgPutTotalTodayNow", "msgGetTotalTodayNow", "putMessageTimesTotal", "putMessageFailedTimes",
              "putMessageSizeTotal", "putMessageAverageSize"),
)  # fmt: skip
_RATE = (Mask(rb'"(?:consumeTps|tps|avgpt|sum)":[-0-9.E]+', _REAL_TIME),)

_FILL: list[Step] = [
    create_topic("the topic", "T"),
    *(send(f"message {number}", str(number).encode(), properties=properties(UNIQ_KEY=KEY, TAGS="A", KEYS=f"k{number}"))
      for number in range(5)),
    send("message in another queue", queue_id=1),
]  # fmt: skip
_CLIENTS: list[Step] = [
    *both(heartbeat("heartbeat of a producer", "client-1", producers=("PG",), on="producer")),
    *both(heartbeat("heartbeat of a consumer", "client-2", group="G", subscriptions=(subscription(),), on="consumer")),
    heartbeat("heartbeat of another consumer", "client-3", group="G", subscriptions=(subscription(),), on="other"),
    heartbeat("heartbeat with another subscription", "client-3", group="G", on="other",
              subscriptions=(subscription(text="A || B", version=2), subscription("New"))),
    heartbeat("heartbeat with bad SQL", "client-4", group="Sql", on="sql",
              subscriptions=(subscription(text="a >", kind="SQL92"),)),
    *both(ask("heartbeat that is none", Code.HEART_BEAT, {}, b"{")),
    ask("heartbeat of nobody", Code.HEART_BEAT, {}, {}),
    *both(ask("consumers of a group", Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})),
    *both(ask("consumers of an unknown group", Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "Unknown"})),
    *both(ask("connections of a group", Code.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "G"})),
    ask("connections of an unknown group", Code.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "Unknown"}),
    *both(ask("connections of producers", Code.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "PG"})),
    ask("connections of unknown producers", Code.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "Unknown"}),
    *both(ask("all producers", Code.GET_ALL_PRODUCER_INFO, {})),
    *both(ask("check of a client", Code.CHECK_CLIENT_CONFIG, {},
              {"clientId": "client-2", "group": "G", "subscriptionData": subscription(text="a > 1", kind="SQL92")})),
    *both(ask("check of a client with bad SQL", Code.CHECK_CLIENT_CONFIG, {},
              {"clientId": "client-2", "group": "G", "subscriptionData": subscription(text="a >", kind="SQL92")})),
    *both(ask("lock", Code.LOCK_BATCH_MQ, {}, {"clientId": "client-2", "consumerGroup": "G", "mqSet": [_QUEUE]})),
    ask("lock of another", Code.LOCK_BATCH_MQ, {}, {"clientId": "client-3", "consumerGroup": "G", "mqSet": [_QUEUE]}),
    *both(ask("unlock", Code.UNLOCK_BATCH_MQ, {}, {"clientId": "client-2", "consumerGroup": "G", "mqSet": [_QUEUE]})),
    ask("lock that is none", Code.LOCK_BATCH_MQ, {}, b"nonsense"),
    ask("unregister", Code.UNREGISTER_CLIENT, {"clientID": "client-3", "consumerGroup": "G"}, on="other"),
    ask("unregister a producer", Code.UNREGISTER_CLIENT, {"clientID": "client-9", "producerGroup": "PG"}, on="other",
        binary=True),
]  # fmt: skip
_RELAYS: list[Step] = [
    ask("running info", Code.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G", "clientId": "client-2"}),
    ask("running info of the client", 0, {}, {"properties": {}}, flag=RESPONSE, answers_server=True, on="consumer"),
    ask("running info of one that is not there", Code.GET_CONSUMER_RUNNING_INFO,
        {"consumerGroup": "G", "clientId": "nobody"}),
    ask("running info that nobody gives", Code.GET_CONSUMER_RUNNING_INFO,
        {"consumerGroup": "G", "clientId": "client-2"}, binary=True, seconds=11),
    ask("consume directly", Code.CONSUME_MESSAGE_DIRECTLY, {
        "consumerGroup": "G", "clientId": "client-2", "topic": "T",
        "msgId": lambda answers: answers["message 1"].fields["msgId"]}),
    ask("result of the client", 0, {}, {"consumeResult": "CR_SUCCESS"}, flag=RESPONSE, answers_server=True,
        on="consumer"),
    ask("consume directly what is not there", Code.CONSUME_MESSAGE_DIRECTLY, {
        "consumerGroup": "G", "clientId": "client-2", "msgId": "nonsense"}),
    ask("status of consumers", Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": "T", "group": "G"}),
    ask("status of the client", 0, {}, b'{"messageQueueTable":{}}', flag=RESPONSE, answers_server=True,
        on="consumer"),
    ask("status of nobody", Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": "T", "group": "Unknown"}),
]  # fmt: skip
_OFFSETS: list[Step] = [
    *both(ask("commit", Code.UPDATE_CONSUMER_OFFSET,
              {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 2})),
    ask("commit of an unknown topic", Code.UPDATE_CONSUMER_OFFSET,
        {"consumerGroup": "G", "topic": "Nothing", "queueId": 0, "commitOffset": 2}),
    ask("commit of a queue that is not there", Code.UPDATE_CONSUMER_OFFSET,
        {"consumerGroup": "G", "topic": "T", "queueId": 9, "commitOffset": 2}),
    *both(ask("committed", Code.QUERY_CONSUMER_OFFSET, {"consumerGroup": "G", "topic": "T", "queueId": 0})),
    *both(ask("committed of a new group", Code.QUERY_CONSUMER_OFFSET,
              {"consumerGroup": "Fresh", "topic": "T", "queueId": 0})),
    ask("committed of a new group or else", Code.QUERY_CONSUMER_OFFSET,
        {"consumerGroup": "Fresh", "topic": "T", "queueId": 0, "setZeroIfNotFound": False}),
    *(each for name, code in (("max", Code.GET_MAX_OFFSET), ("min", Code.GET_MIN_OFFSET),
                              ("earliest time", Code.GET_EARLIEST_MSG_STORETIME))
      for queue_id in (0, 3, 9) for each in both(ask(f"{name} of queue {queue_id}", code,
                                                     {"topic": "T", "queueId": queue_id}))),
    *(each for boundary in ("LOWER", "UPPER") for each in both(ask(
        f"by time, {boundary}", Code.SEARCH_OFFSET_BY_TIMESTAMP,
        {"topic": "T", "queueId": 0, "timestamp": 1_700_000_000_040, "boundaryType": boundary}))),
    ask("by time before all", Code.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": "T", "queueId": 0, "timestamp": 0}),
    ask("by time after all", Code.SEARCH_OFFSET_BY_TIMESTAMP,
        {"topic": "T", "queueId": 0, "timestamp": 1_800_000_000_000}),
    *both(ask("all offsets", Code.GET_ALL_CONSUMER_OFFSET, {})),
    *both(ask("clone offsets", Code.CLONE_GROUP_OFFSET, {"srcGroup": "G", "destGroup": "Clone", "offline": True})),
    *both(ask("correction", Code.QUERY_CORRECTION_OFFSET, {"compareGroup": "Clone", "topic": "T",
                                                          "filterGroups": "None"})),
    ask("group of the clone", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, {"groupName": "Clone"}),
    *both(ask("reset", Code.INVOKE_BROKER_TO_RESET_OFFSET,
              {"group": "Clone", "topic": "T", "timestamp": 0, "isForce": True})),
    ask("reset of one queue", Code.INVOKE_BROKER_TO_RESET_OFFSET,
        {"group": "Clone", "topic": "T", "queueId": 0, "offset": 3, "timestamp": 0, "isForce": True}),
    ask("reset beyond the end", Code.INVOKE_BROKER_TO_RESET_OFFSET,
        {"group": "Clone", "topic": "T", "queueId": 0, "offset": 77, "timestamp": 0, "isForce": True}),
    ask("reset of an unknown group", Code.INVOKE_BROKER_TO_RESET_OFFSET,
        {"group": "Unknown", "topic": "T", "timestamp": 0, "isForce": True}),
    ask("reset of an unknown topic", Code.INVOKE_BROKER_TO_RESET_OFFSET,
        {"group": "G", "topic": "Nothing", "timestamp": 0, "isForce": True}),
    pull("from another place than that of the reset", 1, group="Clone"),
    pull("after the reset", 3, group="Clone"),
    pull("parked until the reset", 5, sys_flag=6, suspend_ms=60_000, on="consumer"),
    ask("reset of a group that is online", Code.INVOKE_BROKER_TO_RESET_OFFSET,
        {"group": "G", "topic": "T", "queueId": 0, "offset": 1, "timestamp": 0, "isForce": True}),
    *(step for number, binary in enumerate((False, True)) for step in (
        ask(f"reset before pull {number}", Code.INVOKE_BROKER_TO_RESET_OFFSET,
            {"group": "G", "topic": "T", "queueId": 0, "offset": number, "timestamp": 0, "isForce": True}),
        ask(f"commit before pull {number}", Code.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 4}),
        pull(f"of another group before pull {number}", 4, group="Clone", binary=binary),
        pull(f"pull {number} that is sent to the place of the reset", 4, binary=binary),
        pull(f"pull {number} after that", 4, binary=binary))),
    *both(ask("consume stats", Code.GET_CONSUME_STATS, {"consumerGroup": "G"}, masks=_RATE)),
    ask("consume stats of a topic", Code.GET_CONSUME_STATS, {"consumerGroup": "G", "topic": "T"}, masks=_RATE),
    *both(ask("consume stats of the broker", Code.GET_BROKER_CONSUME_STATS, {"isOrder": False}, masks=_RATE)),
    *both(ask("time span", Code.QUERY_CONSUME_TIME_SPAN, {"topic": "T", "group": "G"})),
    *both(ask("groups of a topic", Code.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": "T"})),
    *both(ask("topics of a group", Code.QUERY_TOPICS_BY_CONSUMER, {"group": "G"})),
    *both(ask("subscription of a group", Code.QUERY_SUBSCRIPTION_BY_CONSUMER, {"group": "G", "topic": "T"})),
]  # fmt: skip
_LIST = {"topicConfigList": [{"topicName": "L1", "readQueueNums": 1, "writeQueueNums": 1}, {"topicName": "L2"}]}
_TOPICS: list[Step] = [
    *both(create_topic("topic", "Made", read=3, write=2, attributes="+message.type=FIFO")),
    create_topic("topic again", "Made", read=5, write=5),
    create_topic("topic without a name", ""),
    create_topic("topic with a bad name", "../evil"),
    create_topic("topic of the system", "SCHEDULE_TOPIC_XXXX"),
    create_topic("topic with no such attribute", "Odd", attributes="+nonsense=1"),
    create_topic("topic with too many queues", "Odd", read=99_999_999),
    create_topic("topic from another machine", "Far", on="far"),
    *both(ask("list of topics", Code.UPDATE_AND_CREATE_TOPIC_LIST, {}, _LIST)),
    ask("list of topics with a bad one", Code.UPDATE_AND_CREATE_TOPIC_LIST, {},
        {"topicConfigList": [{"topicName": "/"}]}),
    *both(ask("config of a topic", Code.GET_TOPIC_CONFIG, {"topic": "Made", "lo": True})),
    ask("config of an unknown topic", Code.GET_TOPIC_CONFIG, {"topic": "Nothing"}),
    *both(ask("all topics", Code.GET_ALL_TOPIC_CONFIG, {})),
    *both(ask("topics of the system", Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, {})),
    *both(ask("figures of a topic", Code.GET_TOPIC_STATS_INFO, {"topic": "T"})),
    ask("figures of an unknown topic", Code.GET_TOPIC_STATS_INFO, {"topic": "Nothing"}),
    *both(ask("entries of a queue", Code.QUERY_CONSUME_QUEUE,
              {"topic": "T", "queueId": 0, "index": 1, "count": 2, "consumerGroup": "G"})),
    ask("entries of a queue that is not there", Code.QUERY_CONSUME_QUEUE,
        {"topic": "T", "queueId": 9, "index": 0, "count": 2}),
    *both(ask("delete a topic", Code.DELETE_TOPIC_IN_BROKER, {"topic": "Made"})),
    ask("delete a topic of the system", Code.DELETE_TOPIC_IN_BROKER, {"topic": "SCHEDULE_TOPIC_XXXX"}),
    ask("delete from another machine", Code.DELETE_TOPIC_IN_BROKER, {"topic": "T"}, on="far"),
]  # fmt: skip
_GROUP = {"groupName": "Put", "consumeEnable": True, "retryMaxTimes": 3}
_GROUPS: list[Step] = [
    *both(ask("group", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, _GROUP)),
    ask("group with a bad name", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, {"groupName": "a b"}),
    *both(ask("list of groups", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, {},
              {"groupConfigList": [{"groupName": "P1"}, {"groupName": "P2"}]})),
    *both(ask("config of a group", Code.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "Put"})),
    ask("config of an unknown group", Code.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "Unknown"}),
    *both(ask("forbid", Code.UPDATE_AND_GET_GROUP_FORBIDDEN, {"group": "Put", "topic": "T", "readable": False})),
    pull("of a forbidden group", group="Put"),
    *both(ask("all groups", Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {})),
    *both(ask("delete a group", Code.DELETE_SUBSCRIPTIONGROUP, {"groupName": "Put", "cleanOffset": True})),
    ask("delete a group of tools", Code.DELETE_SUBSCRIPTIONGROUP, {"groupName": "TOOLS_CONSUMER"}),
]  # fmt: skip
_BROKER: list[Step] = [
    *both(ask("config", Code.GET_BROKER_CONFIG, {})),
    *both(ask("change of the config", Code.UPDATE_BROKER_CONFIG, {}, b"traceOn=false\nfileReservedTime=48\n")),
    send("after the change"),
    send_v1("after the change, long names", binary=True),
    ask("change of what may not change", Code.UPDATE_BROKER_CONFIG, {}, b"brokerName=other\n"),
    ask("change of what there is not", Code.UPDATE_BROKER_CONFIG, {}, b"nonsense=1\n"),
    ask("change to a bad value", Code.UPDATE_BROKER_CONFIG, {}, b"fileReservedTime=soon\n"),
    ask("change from another machine", Code.UPDATE_BROKER_CONFIG, {}, b"traceOn=true\n", on="far"),
    *both(ask("runtime info", Code.GET_BROKER_RUNTIME_INFO, {}, masks=_RUNTIME)),
    *both(ask("statistics", Code.VIEW_BROKER_STATS_DATA, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "T"},
              masks=_RATE)),
    ask("statistics of nothing", Code.VIEW_BROKER_STATS_DATA, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "Nothing"}),
    *both(ask("replication", Code.GET_BROKER_HA_STATUS, {})),
    *both(ask("what a slave asks first", Code.EXCHANGE_BROKER_HA_INFO, {})),
    *both(ask("request modes", Code.GET_ALL_MESSAGE_REQUEST_MODE, {})),
    *both(ask("flush offset of a master", Code.RESET_MASTER_FLUSH_OFFSET, {"masterFlushOffset": 0})),
    *both(ask("epochs", Code.GET_BROKER_EPOCH_CACHE, {})),
    *both(ask("cold data thresholds", Code.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, {}, b"G=100\nbad=x\n")),
    *both(ask("cold data", Code.GET_COLD_DATA_FLOW_CTR_INFO, {})),
    *both(ask("cold data threshold removed", Code.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}, b"G")),
    *both(ask("read mode", Code.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": 1})),
    ask("read mode that there is not", Code.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": 7}),
    *both(ask("queues in RocksDB", Code.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, {"topic": "T", "checkStoreTime": 0})),
    *both(ask("export of RocksDB", Code.EXPORT_ROCKSDB_CONFIG_TO_JSON, {"configType": "topics"})),
    *both(ask("clean unused topics", Code.CLEAN_UNUSED_TOPIC, {})),
    *both(ask("clean expired queues", Code.CLEAN_EXPIRED_CONSUMEQUEUE, {})),
    *both(ask("delete expired log", Code.DELETE_EXPIRED_COMMITLOG, {})),
]  # fmt: skip


def _refused(code: int, fields: dict[str, Any] | None = None) -> tuple[Step, ...]:
    return both(ask(f"{Code(code).name}", code, fields or {}, b"{}"))


_ACCESS: list[Step] = [
    step
    for code in (
        Code.UPDATE_AND_CREATE_ACL_CONFIG, Code.DELETE_ACL_CONFIG, Code.GET_BROKER_CLUSTER_ACL_INFO,
        Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, Code.AUTH_CREATE_USER, Code.AUTH_UPDATE_USER, Code.AUTH_DELETE_USER,
        Code.AUTH_GET_USER, Code.AUTH_LIST_USER, Code.AUTH_CREATE_ACL, Code.AUTH_UPDATE_ACL, Code.AUTH_DELETE_ACL,
        Code.AUTH_GET_ACL, Code.AUTH_LIST_ACL, Code.ADD_BROKER, Code.REMOVE_BROKER,
    )
    for step in _refused(code, {"username": "u", "subject": "User:u", "brokerName": "b", "brokerClusterName": "c",
                                "brokerId": 1})
]  # fmt: skip
_END: list[Step] = [Close("consumer leaves", "consumer")]
SCENES = (
    Scene("clients", tuple(_FILL + _CLIENTS + _RELAYS + _END)),
    Scene("offsets", (*_FILL, _CLIENTS[2], *_OFFSETS)),
    Scene("topics_and_groups", tuple(_FILL + _TOPICS + _GROUPS)),
    Scene("broker", tuple(_FILL + _BROKER + _ACCESS)),
)
