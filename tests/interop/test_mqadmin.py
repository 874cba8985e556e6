"""The real mqadmin, both versions: every command an operator uses day by day, and what it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.peers.fixtures import RunMqAdmin, Unique
from tests.peers.java_peer import JAVA_VERSIONS, JavaPeer, JavaVersion
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Queue
from tests.peers.process import eventually
from tests.peers.servers import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

# (the versions that have it, the command, a pattern of its output); {names} are filled in by the test.
BOTH, V5, V4 = ("4.9.8", "5.3.3"), ("5.3.3",), ("4.9.8",)
COMMANDS: list[tuple[tuple[str, ...], str, str]] = [
    (BOTH, "updateTopic -b {broker} -t {new} -r 3 -w 3", r"create topic to {broker} success"),
    (V5, "updateTopicList -b {broker} -f {topics_file}", r"submit batch of topic config to {broker} success"),
    (BOTH, "topicList", r"{topic}\n"),
    (BOTH, "topicList -c", r"DefaultCluster +{topic} "),
    (BOTH, "topicRoute -t {topic}", r'"brokerName":"{name}"'),
    (BOTH, "topicStatus -t {topic}", r"{name} +{queue} +0 +1 "),
    (BOTH, "topicClusterList -t {topic}", r"DefaultCluster"),
    (BOTH, "updateTopicPerm -b {broker} -t {new} -p 4", r"from 6 to 4 in {broker} success"),
    (BOTH, "allocateMQ -t {topic} -i 127.0.0.1,127.0.0.2", r'"127\.0\.0\.2":\[\{{"brokerName":"{name}"'),
    (BOTH, "updateOrderConf -t {topic} -m put -v {name}:4", r"update orderConf success"),
    (BOTH, "updateOrderConf -t {topic} -m get", r"orderConf=\[{name}:4\]"),
    (BOTH, "updateOrderConf -t {topic} -m delete", r"delete orderConf success"),
    (BOTH, "updateSubGroup -b {broker} -g {new} -r 3", r"create subscription group to {broker} success"),
    (BOTH, "getConsumerConfig -g {new}", r"retryMaxTimes += +3"),
    (BOTH, "cloneGroupOffset -s {group} -d {new} -t {topic}", r"clone group offset success"),
    (V5, "updateSubGroupList -b {broker} -f {groups_file}", r"submit batch of group config to {broker} success"),
    (BOTH, "deleteSubGroup -b {broker} -g {new}", r"delete subscription group \[{new}\]"),
    (BOTH, "getBrokerConfig -b {broker}", r"brokerName += +{name}"),
    (BOTH, "updateBrokerConfig -b {broker} -k fileReservedTime -v 48", r"update broker config success, {broker}"),
    (BOTH, "brokerStatus -b {broker}", r"putTps +: "),
    (BOTH, "clusterList", r"DefaultCluster +{name} +0 +{broker}"),
    (BOTH, "clusterList -m", r"#InTotalYest"),
    (BOTH, "brokerConsumeStats -b {broker}", r"Diff Total: \d+"),
    (BOTH, "sendMsgStatus -b {name} -c 2 -s 64", r"sendStatus=SEND_OK"),
    (BOTH, "checkMsgSendRT -t {topic} -a 2 -s 64", r"{name} +\d+ +true"),
    (BOTH, "sendMessage -t {topic} -p body -k sent -c TagS", r"{name} +\d+ +SEND_OK"),
    (V5, "queryMsgById -i {offset_id} -t {topic}", r"Keys: +\[{key}\]"),
    (V4, "queryMsgById -i {offset_id}", r"Keys: +\[{key}\]"),
    (BOTH, "queryMsgByKey -t {topic} -k {key}", r"{id} +{queue} +0"),
    (BOTH, "queryMsgByUniqueKey -t {topic} -i {id}", r"Keys: +\[{key}\]"),
    (BOTH, "queryMsgByOffset -t {topic} -b {name} -i {queue} -o 0", r"Keys: +\[{key}\]"),
    (BOTH, "printMsg -t {topic}", r"MSGID: {id}"),
    (BOTH, "printMsgByQueue -t {topic} -a {name} -i {queue} -p true", r"MSGID: {id}"),
    (BOTH, "consumeMessage -t {topic}", r"MSGID: {id}"),
    (BOTH, "queryCq -t {topic} -q {queue} -i 0 -b {broker}", r"tagsCode=65"),
    (BOTH, "producerConnection -g {producers} -t {topic}", r"0001 +127\.0\.0\.1@producer"),
    (BOTH, "consumerConnection -g {group}", r"127\.0\.0\.1@push_consumer"),
    (BOTH, "producer -b {broker}", r"producer group \({producers}\) instance"),
    (BOTH, "consumerProgress -g {group}", r"{topic} +{name} +{queue} +\d+ +\d+"),
    (BOTH, "consumerProgress", r"{group}[^\n]* +1 +"),
    (BOTH, "consumerStatus -g {group}", r"127\.0\.0\.1@push_consumer"),
    (BOTH, "consumerStatus -g {group} -s", r"127\.0\.0\.1@push_consumer"),
    (BOTH, "resetOffsetByTime -g {group} -t {topic} -s now", r"{name} +{queue} +\d"),
    (BOTH, "skipAccumulatedMessage -g {group} -t {topic}", r"{name} +{queue} +\d"),
    (BOTH, "updateKvConfig -s {new} -k key -v value", r"kv config to namespace success"),
    (BOTH, "deleteKvConfig -s {new} -k key", r"delete kv config from namespace success"),
    (BOTH, "wipeWritePerm -b {name}", r"wipe write perm of broker\[{name}\][^\n]*OK"),
    (BOTH, "addWritePerm -b {name}", r"add write perm of broker\[{name}\][^\n]*OK"),
    (BOTH, "getNamesrvConfig", r"listenPort += +\d+"),
    (BOTH, "updateNamesrvConfig -k enableTopicList -v true", r"update name server config success"),
    (BOTH, "cleanExpiredCQ -b {broker}", r"success"),
    (BOTH, "cleanUnusedTopic -b {broker}", r"success"),
    (BOTH, "deleteExpiredCommitLog -b {broker}", r"success"),
    (BOTH, "statsAll", r"{topic} +{group}"),
    (BOTH, "exportMetadata -c DefaultCluster -f {folder}", r"export {folder}/metadata.json success"),
    (V5, "exportConfigs -c DefaultCluster -f {folder}", r"export {folder}/configs.json success"),
    (V5, "exportMetrics -c DefaultCluster -f {folder}", r"export {folder}/metrics.json success"),
    (BOTH, "deleteTopic -c DefaultCluster -t {new}", r"delete topic \[{new}\] from NameServer success"),
    (V5, "haStatus -b {broker}", r"#MasterAddr\t{broker}"),
    (V5, "updateStaticTopic -t {static} -qn 2 -b {name}", r"new mapping data is written to file"),
    (V5, "remappingStaticTopic -t {static} -b {name}", r"written to file \S+\.after"),
    (V5, "updateColdDataFlowCtrGroupConfig -b {broker} -g {group} -v 1024", r"Config success, {broker}"),
    (V5, "getColdDataFlowCtrInfo -b {broker}", r'"configTable":\{{\s*"{group}":1024\s*\}}'),
    (V5, "removeColdDataFlowCtrGroupConfig -b {broker} -g {group}", r"remove broker cold read threshold success"),
    (V5, "getColdDataFlowCtrInfo -c DefaultCluster", r'"configTable":\{{\}}'),
    (V5, "setCommitLogReadAheadMode -b {broker} -m 1", r"readahead mode success, mode: 1"),
    (V5, "setCommitLogReadAheadMode -b {broker} -m 0", r"readahead mode success, mode: 0"),
    (V5, "checkRocksdbCqWriteProgress -c DefaultCluster -t {topic}", r"{name} check doing"),
    (V5, "rocksDBConfigToJson -c DefaultCluster -t topics", r"broker export done\."),
    (V5, "exportPopRecord -c DefaultCluster -d true", r"Export broker records, brokerName={name}"),
    (V5, "resetMasterFlushOffset -b {broker} -o 0", r"reset master flush offset to 0 success"),
    (V5, "setConsumeMode -b {broker} -t {topic} -g {new} -m PULL", r"consume mode\[PULL\]"),
]


# What the exported files must name.
EXPORTS = {"metadata.json": "{topic}", "configs.json": "{name}", "metrics.json": "{name}"}


@pytest.fixture
def names(cluster: Cluster, java_533: JavaPeer, unique: Unique, tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the commands speak of: a topic with a message, its producer and its consumer, both alive."""
    listed = unique("listed")
    topics_file, groups_file = tmp_path / "topics.json", tmp_path / "groups.json"
    topics_file.write_text(json.dumps([{"topicName": listed, "readQueueNums": 1, "writeQueueNums": 1}]))
    groups_file.write_text(json.dumps([{"groupName": listed, "retryMaxTimes": 2}]))
    topic, group, producers, key = unique("topic"), unique("consumers"), unique("producers"), unique("key")
    with java_533.producer(producers, cluster.address) as producer:
        sent = producer.send(Outgoing(topic, b"body", tags="A", keys=key))
        with java_533.push_consumer(group, cluster.address, [topic]) as consumer:
            consumer.wait(1)
            with java_533.admin(cluster.address) as admin:  # the consumer itself commits a while later
                admin.call("updateConsumeOffset", cluster.broker.address, group, sent.queue, 1)
            yield {
                "broker": cluster.broker.address,
                "name": cluster.broker.name,
                "topic": topic,
                "group": group,
                "producers": producers,
                "new": unique("new"),
                "static": unique("static"),
                "key": key,
                "id": sent.msg_id,
                "offset_id": sent.offset_msg_id or "",
                "queue": str(sent.queue.queue_id),
                "folder": str(tmp_path),
                "topics_file": str(topics_file),
                "groups_file": str(groups_file),
            }


@pytest.mark.parametrize("version", JAVA_VERSIONS)
def test_commands(cluster: Cluster, mqadmin: RunMqAdmin, version: JavaVersion, names: dict[str, str]) -> None:
    escaped = {key: re.escape(value) for key, value in names.items()}
    wrong = []
    for versions, command, pattern in COMMANDS:
        if version in versions:
            ran = mqadmin(version, *command.format(**names).split(), "-n", cluster.address)
            if ran.exit or not re.search(pattern.format(**escaped), ran.stdout):
                wrong.append(f"{command}: exit {ran.exit}\n{ran.stdout[:600]}\n{ran.stderr[:600]}")
    assert not wrong, "\n\n".join(wrong)
    for file, expected in EXPORTS.items():
        if (path := Path(names["folder"]) / file).exists():
            assert expected.format(**names) in path.read_text()


def test_a_queue_without_a_commit_is_told_as_lag(cluster: Cluster, java_533: JavaPeer, unique: Unique) -> None:
    topic, group, broker = unique("half-read"), unique("half-readers"), cluster.broker
    queues = [Queue(topic, broker.name, number) for number in range(2)]
    with java_533.admin(cluster.address) as admin, java_533.producer(unique("p"), cluster.address) as producer:
        config = {"topicName": topic, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}
        admin.call("createAndUpdateTopicConfig", broker.address, config)
        admin.call("createAndUpdateSubscriptionGroupConfig", broker.address, {"groupName": group})
        for queue in queues:
            producer.send(Outgoing(topic, b"body"), queue=queue)
        admin.call("updateConsumeOffset", broker.address, group, queues[0], 1)

        def offsets() -> dict[int, tuple[int, int]]:
            told = admin.call("examineConsumeStats", broker.address, group, topic, 30_000)["offsetTable"]
            return {
                each["key"]["queueId"]: (each["value"]["brokerOffset"], each["value"]["consumerOffset"])
                for each in told
            }

        # Apache's broker answers a send before the message is in its queue.
        eventually(lambda: all(end == 1 for end, _ in offsets().values()), "both messages in their queues")
        assert offsets() == {0: (1, 1), 1: (1, 0)}


def test_a_topic_that_is_not_there_has_no_request_mode(cluster: Cluster, java_533: JavaPeer, unique: Unique) -> None:
    with java_533.admin(cluster.address) as admin, pytest.raises(PeerError, match="CODE: 17"):
        admin.call("setMessageRequestMode", cluster.broker.address, unique("nothing"), unique("g"), "POP", 8, 30_000)


@pytest.mark.parametrize("version", JAVA_VERSIONS)
def test_a_path_is_not_set(sprocket_rocketmq: Cluster, mqadmin: RunMqAdmin, version: JavaVersion) -> None:
    at = ("-b", sprocket_rocketmq.broker.address, "-n", sprocket_rocketmq.address)
    before = mqadmin(version, "getBrokerConfig", *at).stdout
    for key in ("storePathRootDir", "brokerConfigPath", "rocketmqHome", "namesrvAddr"):
        ran = mqadmin(version, "updateBrokerConfig", *at, "-k", key, "-v", "/tmp/x")
        assert key in ran.stdout + ran.stderr
        assert "success" not in ran.stdout
    assert mqadmin(version, "getBrokerConfig", *at).stdout == before
