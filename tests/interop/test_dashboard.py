"""What rocketmq-dashboard asks, page by page, through the real DefaultMQAdminExt, and what comes back."""

from __future__ import annotations

import pytest
from tests.interop.pages import Scene, number, scene
from tests.peers.java_peer import JavaPeer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue
from tests.peers.servers import Cluster

__all__ = ["scene"]

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


def test_cluster_page(scene: Scene) -> None:
    info = scene.call("examineBrokerClusterInfo")
    name = scene.cluster.broker.name
    assert info["brokerAddrTable"][name]["brokerAddrs"] == {"0": scene.broker}
    figures = scene.call("fetchBrokerRuntimeStats", scene.broker)["table"]
    for key in ("putTps", "getTransferredTps", "getTotalTps"):
        assert all(float(part or 0) >= 0 for part in figures[key].split(" "))
    assert int(figures["msgPutTotalTodayNow"]) >= 1
    assert int(figures["msgGetTotalTodayNow"]) >= 1
    assert int(figures["bootTimestamp"]) < int(figures["earliestMessageTimeStamp"])
    assert 0 < float(figures["commitLogDiskRatio"]) < 1
    assert figures["brokerActive"] == "true"
    config = scene.call("getBrokerConfig", scene.broker)
    assert config["brokerName"] == name
    assert config["brokerClusterName"] == "DefaultCluster"
    assert config["listenPort"] == scene.broker.rpartition(":")[2]


def test_trend_page(scene: Scene) -> None:
    put = scene.call("viewBrokerStatsData", scene.broker, "TOPIC_PUT_NUMS", scene.topic)
    got = scene.call("viewBrokerStatsData", scene.broker, "GROUP_GET_NUMS", f"{scene.topic}@{scene.group}")
    for statistics in (put, got):
        assert set(statistics) == {"statsMinute", "statsHour", "statsDay"}
        assert {"sum", "tps", "avgpt"} <= set(statistics["statsMinute"])
    if scene.cluster.kind == "sprocket":  # Apache's are of the last sample, ten seconds ago at most
        assert (put["statsMinute"]["sum"], got["statsDay"]["sum"]) == (1, 1)
    with pytest.raises(PeerError) as unknown:
        scene.call("viewBrokerStatsData", scene.broker, "TOPIC_PUT_NUMS", "no-such-topic")
    assert unknown.value.code == 1


def test_topic_page(scene: Scene) -> None:
    assert scene.topic in scene.call("fetchAllTopicList")["topicList"]
    configs = scene.call("getAllTopicConfig", scene.broker, 5000)
    assert configs["topicConfigTable"][scene.topic]["perm"] == 6
    statistics = scene.of_queue(scene.call("examineTopicStats", scene.topic)["offsetTable"])
    assert (statistics["minOffset"], statistics["maxOffset"]) == (0, 1)
    assert statistics["lastUpdateTimestamp"] > 1_600_000_000_000
    route = scene.call("examineTopicRouteInfo", scene.topic)
    assert route["brokerDatas"][0]["brokerAddrs"] == {"0": scene.broker}
    assert scene.group in scene.call("queryTopicConsumeByWho", scene.topic)["groupList"]
    config = scene.call("examineTopicConfig", scene.broker, scene.topic)
    assert (config["topicName"], config["perm"], config["order"]) == (scene.topic, 6, False)
    with pytest.raises(PeerError) as unknown:
        scene.call("examineTopicConfig", scene.broker, "no-such-topic")
    assert unknown.value.code == 17


def test_topic_page_changes(scene: Scene) -> None:
    topic = scene.new("topic")
    wanted = {
        "topicName": topic, "readQueueNums": 3, "writeQueueNums": 2, "perm": 6, "order": True,
        "attributes": {"+message.type": "FIFO"},
    }  # fmt: skip
    scene.call("createAndUpdateTopicConfig", scene.broker, wanted)
    config = scene.call("examineTopicConfig", scene.broker, topic)
    assert (config["readQueueNums"], config["writeQueueNums"], config["order"]) == (3, 2, True)
    assert config["attributes"] == {"message.type": "FIFO"}
    assert scene.call("examineTopicRouteInfo", topic)["queueDatas"][0]["readQueueNums"] == 3
    scene.call("createAndUpdateTopicConfigList", scene.broker, [{**wanted, "perm": 4, "attributes": {}}])
    assert scene.call("examineTopicConfig", scene.broker, topic)["perm"] == 4
    scene.call("deleteTopicInBroker", [scene.broker], topic)
    scene.call("deleteTopicInNameServer", [scene.cluster.address], topic, types=["Set", "String"])
    with pytest.raises(PeerError) as gone:
        scene.call("examineTopicConfig", scene.broker, topic)
    assert gone.value.code == 17
    with pytest.raises(PeerError) as refused:
        scene.call("deleteTopicInBroker", [scene.broker], "SCHEDULE_TOPIC_XXXX")
    assert refused.value.code == 29


def test_consumer_page(scene: Scene) -> None:
    groups = scene.call("getAllSubscriptionGroup", scene.broker, 5000)["subscriptionGroupTable"]
    assert groups[scene.group]["consumeEnable"] is True
    progress = scene.of_queue(scene.call("examineConsumeStats", scene.group)["offsetTable"])
    assert (progress["brokerOffset"], progress["consumerOffset"]) == (1, 1)
    assert progress["lastTimestamp"] > 1_600_000_000_000
    progress = scene.of_queue(scene.call("examineConsumeStats", scene.group, scene.topic)["offsetTable"])
    assert progress["consumerOffset"] == 1
    connection = scene.call("examineConsumerConnectionInfo", scene.group)
    (client,) = connection["connectionSet"]
    assert (client["clientId"], client["language"], client["version"]) == (scene.consumer.client_id, "JAVA", 479)
    assert connection["subscriptionTable"][scene.topic]["subString"] == "*"
    assert (connection["consumeType"], connection["messageModel"]) == ("CONSUME_PASSIVELY", "CLUSTERING")
    running = scene.call("getConsumerRunningInfo", scene.group, scene.consumer.client_id, False)
    assert scene.topic in {pair["key"]["topic"] for pair in running["mqTable"]}
    assert running["properties"]["PROP_CLIENT_VERSION"] == "V5_3_3"
    config = scene.call("examineSubscriptionGroupConfig", scene.broker, scene.group)
    assert (config["groupName"], config["retryMaxTimes"]) == (scene.group, 16)
    with pytest.raises(PeerError) as offline:
        scene.call("examineConsumerConnectionInfo", "no-such-group", scene.broker)
    assert offline.value.code == 206


def test_consumer_page_changes(scene: Scene) -> None:
    group = scene.new("consumers")
    wanted = {"groupName": group, "retryMaxTimes": 3, "consumeEnable": True}
    scene.call("createAndUpdateSubscriptionGroupConfig", scene.broker, wanted)
    assert scene.call("examineSubscriptionGroupConfig", scene.broker, group)["retryMaxTimes"] == 3
    scene.call("createAndUpdateSubscriptionGroupConfigList", scene.broker, [{**wanted, "retryMaxTimes": 5}])
    assert scene.call("examineSubscriptionGroupConfig", scene.broker, group)["retryMaxTimes"] == 5
    scene.call("cloneGroupOffset", scene.group, group, scene.topic, True)
    types = ["String", "String", "String", "long", "boolean"]
    reset = scene.call("resetOffsetByTimestamp", "DefaultCluster", scene.topic, group, 0, True, types=types)
    assert scene.of_queue(reset) == 0
    scene.call("deleteSubscriptionGroup", scene.broker, group, True)
    table = scene.call("getAllSubscriptionGroup", scene.broker, 5000)["subscriptionGroupTable"]
    assert group not in table
    assert group not in scene.call("queryTopicConsumeByWho", scene.topic)["groupList"]


def test_a_living_consumer_is_reset(sprocket_rocketmq: Cluster, java: JavaPeer) -> None:
    """It waits at the end of its queues, hears of the reset at once, and consumes everything again."""
    which, address = number(), sprocket_rocketmq.address
    topic, group = f"topic-reset-{which}", f"consumers-reset-{which}"
    with java.producer(f"producers-reset-{which}", address) as producer, java.admin(address) as admin:
        producer.send(Outgoing(topic, b"twice"))
        with java.push_consumer(group, address, [topic]) as consumer:
            consumer.wait(1)
            admin.call("resetOffsetByTimestamp", topic, group, 0, True, types=["String", "String", "long", "boolean"])
            assert [message.body for message in consumer.wait(2, timeout=60)] == [b"twice", b"twice"]


def test_producer_page(scene: Scene) -> None:
    connection = scene.call("examineProducerConnectionInfo", scene.producer.group, scene.topic)
    (client,) = connection["connectionSet"]
    assert (client["clientId"], client["language"]) == (scene.producer.client_id, "JAVA")
    assert client["clientAddr"].startswith("127.0.0.1:")
    producers = scene.call("getAllProducerInfo", scene.broker)["data"]
    assert producers[scene.producer.group][0]["remoteIP"].startswith("/127.0.0.1:")


def test_message_page(scene: Scene) -> None:
    key = f"key-{scene.topic.rpartition('-')[2]}"
    found = scene.call("queryMessage", scene.topic, key, 64, 0, 2**62)["messageList"]
    assert [message["msgId"] for message in found] == [scene.sent.msg_id]
    assert scene.call("viewMessage", scene.topic, scene.sent.msg_id)["keys"] == key
    assert scene.call("viewMessage", scene.topic, scene.sent.offset_msg_id)["queueOffset"] == 0
    assert scene.call("minOffset", scene.queue) == 0
    assert scene.call("maxOffset", scene.queue) == 1
    assert scene.call("searchOffset", scene.queue, 0) == 0
    assert scene.call("searchOffset", scene.queue, 2**42) == 1
    assert scene.call("earliestMsgStoreTime", scene.queue) > 1_600_000_000_000
    types = ["String", "String", "String", "String"]
    arguments = (scene.group, scene.consumer.client_id, scene.topic, scene.sent.offset_msg_id)
    assert scene.call("consumeMessageDirectly", *arguments, types=types)["consumeResult"] == "CR_SUCCESS"


def test_who_consumes_what(scene: Scene) -> None:
    assert scene.topic in scene.call("queryTopicsByConsumer", scene.group)["topicList"]
    assert scene.call("querySubscription", scene.group, scene.topic)["subString"] == "*"
    spans = scene.call("queryConsumeTimeSpan", scene.topic, scene.group)
    span = next(each for each in spans if Queue.from_json(each["messageQueue"]) == scene.queue)
    assert 1_600_000_000_000 < span["minTimeStamp"] == span["maxTimeStamp"] == span["consumeTimeStamp"]
    assert span["delayTime"] == 0
    status = scene.call("getConsumeStatus", scene.topic, scene.group, "")
    assert scene.of_queue(status[scene.consumer.client_id]) == 1
    everything = scene.call("fetchConsumeStatsInBroker", scene.broker, False, 5000)
    (statistics,) = next(table[scene.group] for table in everything["consumeStatsList"] if scene.group in table)
    assert scene.of_queue(statistics["offsetTable"])["consumerOffset"] == 1
    entries = scene.call("queryConsumeQueue", scene.broker, scene.topic, scene.queue.queue_id, 0, 5, scene.group)
    assert (entries["minQueueIndex"], entries["maxQueueIndex"]) == (0, 1)
    assert entries["queueData"][0]["tagsCode"] == ord("A")
    assert entries["subscriptionData"]["topic"] == scene.topic


def test_housekeeping(scene: Scene) -> None:
    for method in ("cleanExpiredConsumerQueueByAddr", "cleanUnusedTopicByAddr", "deleteExpiredCommitLogByAddr"):
        assert scene.call(method, scene.broker) is True
    assert scene.call("getBrokerHAStatus", scene.broker)["master"] is True
    scene.call("resetMasterFlushOffset", scene.broker, 0)
    arguments = (scene.broker, scene.new("consumers"), scene.topic)
    assert scene.call("updateAndGetGroupReadForbidden", *arguments, False)["readable"] is False
    assert scene.call("updateAndGetGroupReadForbidden", *arguments, True)["readable"] is True
    scene.call("updateBrokerConfig", scene.broker, {"fileReservedTime": "48"})
    assert scene.call("getBrokerConfig", scene.broker)["fileReservedTime"] == "48"


def test_access_control_page(scene: Scene) -> None:
    """Nobody has switched it on: the page shows why, and nothing hangs."""
    for method, arguments in (("listUser", ("",)), ("listAcl", ("", ""))):
        with pytest.raises(PeerError) as refused:
            scene.call(method, scene.broker, *arguments)
        assert refused.value.code == 1
