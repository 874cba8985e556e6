"""Which of our commands does what an mqadmin command does, and what its options are called here.

An option of mqadmin is written as its letter and its long name. It becomes, in our command,

    Word(n)         the n-th word behind the command
    Option(name)    an option with the same value
    Switch(name)    a flag, given when the value is `true` and not when it is `false`; `on` and `off` are other words
                    for the two, however they are capitalised
    Flag(name)      a flag without a value in both
    Ignored         something that has no meaning here
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sprocketmq.errors import ConfigError


def same(value: str) -> str:
    return value


def mqadmin_time(value: str) -> str:
    """`now`, milliseconds, or 2026-11-15#19:27:02:123, as ours reads it."""
    if value == "now" or value == "-1":
        return str(int(datetime.now().timestamp() * 1000))
    if value.isdecimal():
        return value
    try:
        return datetime.strptime(value, "%Y-%m-%d#%H:%M:%S:%f").isoformat(timespec="milliseconds")
    except ValueError:
        raise ConfigError(f"{value!r} is not now, milliseconds or yyyy-MM-dd#HH:mm:ss:SSS") from None


def user_of(value: str) -> str:
    """The name in `User:NAME`."""
    return value.partition(":")[2] or value


@dataclass(frozen=True, slots=True)
class Word:
    at: int
    convert: Callable[[str], str] = same


@dataclass(frozen=True, slots=True)
class Option:
    name: str
    convert: Callable[[str], str] = same


@dataclass(frozen=True, slots=True)
class Switch:
    name: str
    on: str = "true"
    off: str = "false"
    otherwise: str | None = None  # a flag for `off`


@dataclass(frozen=True, slots=True)
class Flag:
    name: str


@dataclass(frozen=True, slots=True)
class Ignored:
    has_value: bool = True


Meaning = Word | Option | Switch | Flag | Ignored


@dataclass(frozen=True, slots=True)
class Task:
    """`words` is our command; `always` is added to it; `without` replaces it when its words are not given."""

    words: tuple[str, ...]
    options: Mapping[tuple[str, str], Meaning] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    without: tuple[str, ...] | None = None


NAMESERVER = {("n", "namesrvAddr"): Option("--nameserver")}

_TOPIC, _GROUP = ("t", "topic"), ("g", "groupName")
_CLUSTER, _BROKER = ("c", "clusterName"), ("b", "brokerAddr")

TASKS: Mapping[str, Task] = {
    "clusterList": Task(("cluster",), {
        ("m", "moreStats"): Ignored(False), _CLUSTER: Ignored(), ("i", "interval"): Ignored(),
    }),
    "topicList": Task(("topic", "list"), {("c", "clusterModel"): Flag("--details")}, ("--all",)),
    "topicRoute": Task(("topic", "route"), {_TOPIC: Word(0), ("l", "list"): Ignored(False)}),
    "topicClusterList": Task(("topic", "route"), {_TOPIC: Word(0)}),
    "topicStatus": Task(("topic", "status"), {_TOPIC: Word(0), ("c", "cluster"): Ignored()}),
    "updateTopic": Task(("topic", "create"), {
        _TOPIC: Word(0), _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
        ("r", "readQueueNums"): Option("--read-queues"), ("w", "writeQueueNums"): Option("--queues"),
        ("p", "perm"): Option("--perm"), ("o", "order"): Switch("--order"), ("u", "unit"): Ignored(),
        ("s", "hasUnitSub"): Ignored(),
    }),
    "deleteTopic": Task(("topic", "delete"), {_TOPIC: Word(0), _CLUSTER: Option("--cluster")}, ("--yes",)),
    "updateTopicPerm": Task(("topic", "perm"), {
        _TOPIC: Word(0), ("p", "perm"): Word(1), _BROKER: Option("--broker"), _CLUSTER: Ignored(),
    }),
    "consumerProgress": Task(("group", "lag"), {
        _GROUP: Word(0), ("t", "topicName"): Option("--topic"), ("s", "showClientIP"): Switch("--owners"),
    }, without=("group", "list", "--details")),
    "consumerConnection": Task(("group", "members"), {("g", "consumerGroup"): Word(0), _BROKER: Ignored()}),
    "updateSubGroup": Task(("group", "create"), {
        _GROUP: Word(0), _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
        ("s", "consumeEnable"): Switch("--disabled", on="false", off="true"),
        ("d", "consumeBroadcastEnable"): Switch("--no-broadcast", on="false", off="true"),
        ("q", "retryQueueNums"): Option("--retry-queues"), ("r", "retryMaxTimes"): Option("--retries"),
        ("m", "consumeFromMinEnable"): Ignored(), ("i", "brokerId"): Ignored(),
    }),
    "deleteSubGroup": Task(("group", "delete"), {
        _GROUP: Word(0), _CLUSTER: Ignored(), ("r", "removeOffset"): Switch("--clean-offsets"),
    }, ("--yes",)),
    "resetOffsetByTime": Task(("offset", "reset"), {
        ("g", "group"): Word(0), _TOPIC: Word(1), ("s", "timestamp"): Option("--to-time", mqadmin_time),
        ("f", "force"): Ignored(),
    }, ("--yes",)),
    "skipAccumulatedMessage": Task(("offset", "reset"), {
        ("g", "group"): Word(0), _TOPIC: Word(1), ("f", "force"): Ignored(),
    }, ("--to", "last", "--yes")),
    "cloneGroupOffset": Task(("offset", "clone"), {
        ("s", "srcGroup"): Word(0), ("d", "destGroup"): Word(1), _TOPIC: Word(2), ("o", "offline"): Ignored(),
    }),
    "queryMsgById": Task(("message", "get"), {("i", "msgId"): Word(0), _TOPIC: Option("--topic")}, ("--track",)),
    "queryMsgByUniqueKey": Task(("message", "get"), {("i", "msgId"): Word(0), _TOPIC: Option("--topic")}, ("--track",)),
    "queryMsgByKey": Task(("message", "find"), {
        _TOPIC: Word(0), ("k", "msgKey"): Option("--key"), ("m", "maxNum"): Option("--count"),
        ("b", "beginTimestamp"): Option("--begin"), ("e", "endTimestamp"): Option("--end"),
    }),
    "queryMsgByOffset": Task(("message", "at"), {
        _TOPIC: Word(0), ("b", "brokerName"): Word(1), ("i", "queueId"): Word(2), ("o", "offset"): Word(3),
    }),
    "queryMsgTraceById": Task(("message", "trace"), {
        ("i", "msgId"): Word(0), ("t", "traceTopic"): Option("--trace-topic"),
    }),
    "printMsg": Task(("consume",), {
        _TOPIC: Word(0), ("s", "subExpression"): Option("--tag"),
        ("b", "beginTimestamp"): Option("--from", mqadmin_time),
        ("c", "charsetName"): Ignored(), ("d", "printBody"): Ignored(),
    }, ("--exit-at-end",)),
    "printMsgByQueue": Task(("consume",), {
        _TOPIC: Word(0), ("i", "queueId"): Option("--queue"), ("a", "brokerName"): Ignored(),
        ("b", "beginTimestamp"): Option("--from", mqadmin_time), ("s", "subExpression"): Option("--tag"),
        ("c", "charsetName"): Ignored(), ("p", "print"): Ignored(), ("d", "printBody"): Ignored(),
    }, ("--exit-at-end",)),
    "consumeMessage": Task(("consume",), {
        _TOPIC: Word(0), ("g", "consumerGroup"): Option("--group"), ("i", "queueId"): Option("--queue"),
        ("o", "offset"): Option("--from"), ("c", "messageNumber"): Option("--count"),
        ("s", "beginTimestamp"): Option("--from", mqadmin_time),
    }, ("--exit-at-end",)),
    "sendMessage": Task(("send",), {
        _TOPIC: Word(0), ("p", "body"): Word(1), ("k", "key"): Option("--key"), ("c", "tags"): Option("--tag"),
        ("m", "msgTraceEnable"): Ignored(),
    }),
    "createUser": Task(("user", "add"), {
        ("u", "username"): Word(0), ("p", "password"): Option("--password"),
        ("t", "userType"): Switch("--super", on="Super", off="Normal"),
        _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
    }),
    "deleteUser": Task(("user", "remove"), {
        ("u", "username"): Word(0), _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
    }, ("--yes",)),
    "updateUser": Task(("user", "change"), {
        ("u", "username"): Word(0), ("p", "password"): Option("--password"),
        ("t", "userType"): Switch("--super", on="Super", off="Normal", otherwise="--normal"),
        ("s", "userStatus"): Switch("--enable", on="enable", off="disable", otherwise="--disable"),
        _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
    }),
    "listUser": Task(("user", "list"), {
        ("f", "filter"): Word(0), _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
    }),
    "getUser": Task(("user", "list"), {
        ("u", "username"): Word(0), _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
    }),
    "createAcl": Task(("acl", "add"), {
        ("s", "subject"): Word(0, user_of), ("r", "resources"): Word(1), ("a", "actions"): Word(2),
        ("d", "decision"): Switch("--deny", on="Deny", off="Allow"), ("i", "sourceIp"): Option("--from"),
        _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
    }),
    "updateAcl": Task(("acl", "change"), {
        ("s", "subject"): Word(0, user_of), ("r", "resources"): Word(1), ("a", "actions"): Word(2),
        ("d", "decision"): Switch("--deny", on="Deny", off="Allow"), ("i", "sourceIp"): Option("--from"),
        _CLUSTER: Option("--cluster"), _BROKER: Option("--broker"),
    }),
    "deleteAcl": Task(("acl", "remove"), {
        ("s", "subject"): Word(0, user_of), ("r", "resource"): Word(1), _CLUSTER: Option("--cluster"),
        _BROKER: Option("--broker"),
    }, ("--yes",)),
    "listAcl": Task(("acl", "list"), {
        ("s", "subject"): Word(0, user_of), ("r", "resource"): Option("--resource"), _CLUSTER: Ignored(),
        _BROKER: Option("--broker"),
    }),
    "getAcl": Task(("acl", "list"), {
        ("s", "subject"): Word(0, user_of), _CLUSTER: Ignored(), _BROKER: Option("--broker"),
    }),
    "brokerStatus": Task(("broker", "status"), {_BROKER: Word(0)}, ("--all",)),
    "getBrokerConfig": Task(("broker", "config"), {_BROKER: Word(0)}),
    "updateBrokerConfig": Task(("broker", "config"), {
        _BROKER: Word(0), ("k", "key"): Word(1), ("v", "value"): Word(2),
    }),
    "producer": Task(("broker", "producers"), {("b", "broker"): Word(0)}),
    "wipeWritePerm": Task(("broker", "writing"), {("b", "brokerName"): Word(0)}, ("--forbid",)),
    "addWritePerm": Task(("broker", "writing"), {("b", "brokerName"): Word(0)}, ("--allow",)),
}  # fmt: skip


def find_option(task: Task, given: str) -> Meaning | None:
    """By its letter or its long name, as `-t`, `--topic` or, as Java's parser has it, `-topic`."""
    name = given.lstrip("-")
    for (letter, long), meaning in {**NAMESERVER, **task.options}.items():
        if name in (letter, long):
            return meaning
    return None
