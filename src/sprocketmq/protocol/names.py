"""Names of topics and groups. They become directories and file names, so nothing unchecked gets past here.

name   := one or more of  % | a-z A-Z 0-9 _ -
topic  at most 127 characters; 255 for the topics a broker makes itself, `%RETRY%group` and `%DLQ%group`
group  at most 255 characters
"""

from __future__ import annotations

import re

MAX_TOPIC_LENGTH = 127
MAX_OWN_TOPIC_LENGTH = 255
MAX_GROUP_LENGTH = 255
MAX_TEXT_BYTES = 255

RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
SYSTEM_TOPIC_PREFIX = "rmq_sys_"
SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"

DEFAULT_TOPIC = "TBW102"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
TIMER_TOPIC = "rmq_sys_wheel_timer"
TRANSACTION_HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
TRANSACTION_OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRANSACTION_CHECK_MAX_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
OFFSET_MOVED_TOPIC = "OFFSET_MOVED_EVENT"
BENCHMARK_TOPIC = "BenchmarkTest"

#: The namespace of the nameserver that holds the order of queues: topic -> "broker-a:4;broker-b:4".
ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"

#: Kinds of subscriptions, and the one that wants every message.
TAG = "TAG"
SQL92 = "SQL92"
ALL = "*"

CLOSED_TOPICS = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANSACTION_HALF_TOPIC,
        TRANSACTION_OP_TOPIC,
        TRANSACTION_CHECK_MAX_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
    }
)
"""Topics that no client may send to, besides those with the system's prefix."""

RESTING_TOPICS = frozenset({SCHEDULE_TOPIC, TIMER_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_CHECK_MAX_TOPIC})
"""Topics in which messages of all others rest until they go to their own."""

SYSTEM_TOPICS = CLOSED_TOPICS | {DEFAULT_TOPIC, BENCHMARK_TOPIC, TRACE_TOPIC, "CHECKPOINT_TOPIC"}
"""Topics that no administrator may create or delete."""

SYSTEM_GROUPS = frozenset(
    {
        "DEFAULT_CONSUMER",
        "DEFAULT_PRODUCER",
        "TOOLS_CONSUMER",
        "SCHEDULE_CONSUMER",
        "FILTERSRV_CONSUMER",
        "__MONITOR_CONSUMER",
        "CLIENT_INNER_PRODUCER",
        "SELF_TEST_P_GROUP",
        "SELF_TEST_C_GROUP",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_OWNER",
        "CID_ONSAPI_PULL",
        "CID_RMQ_SYS_TRANS",
        "CID_SYS_RMQ_TRANS",
    }
)

_NAME = re.compile(r"[%|a-zA-Z0-9_-]+")
_OWN_NAME = re.compile(r"[%|a-zA-Z0-9_+-]+")  # `+` joins group and topic in the newer POP retry topics


def topic_fault(topic: str) -> str | None:
    """What is wrong with a topic's name, or None."""
    own = is_retry_topic(topic) or is_dlq_topic(topic)
    return _fault("topic", topic, _OWN_NAME if own else _NAME, MAX_OWN_TOPIC_LENGTH if own else MAX_TOPIC_LENGTH)


def group_fault(group: str) -> str | None:
    """What is wrong with a group's name, or None."""
    return _fault("group", group, _NAME, MAX_GROUP_LENGTH)


def client_id_fault(client_id: str) -> str | None:
    """What is wrong with the id that a client gives itself, or None: it is free text, but short and on one line."""
    return _text_fault("client id", client_id)


def broker_name_fault(name: str) -> str | None:
    return _text_fault("broker name", name)


def is_closed_topic(topic: str) -> bool:
    """Whether no client may send there: the broker keeps its own records in it, and acts on them."""
    return topic in CLOSED_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_system_topic(topic: str) -> bool:
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_system_group(group: str) -> bool:
    return group in SYSTEM_GROUPS or group.startswith(SYSTEM_GROUP_PREFIX)


def retry_topic(group: str) -> str:
    return RETRY_PREFIX + group


def group_of_retries(topic: str) -> str:
    """The group of a retry topic; a `+`, which no group has in its name, stands before the topic that POP popped."""
    return topic.removeprefix(RETRY_PREFIX).partition("+")[0]


def dlq_topic(group: str) -> str:
    return DLQ_PREFIX + group


def pop_retry_topic(group: str, topic: str, *, separator: str = "_") -> str:
    """Where POP puts what `group` did not acknowledge of `topic`; 5.x may join with `+` to keep the parts apart."""
    return f"{RETRY_PREFIX}{group}{separator}{topic}"


def is_retry_topic(topic: str) -> bool:
    return topic.startswith(RETRY_PREFIX)


def is_dlq_topic(topic: str) -> bool:
    return topic.startswith(DLQ_PREFIX)


def with_namespace(namespace: str | None, name: str) -> str:
    """`name` inside a namespace: `ns%name`, `%RETRY%ns%group`. System names, and names already inside, stay."""
    prefix, bare = _split_prefix(name)
    outside = is_system_topic(bare) or bare.startswith(SYSTEM_GROUP_PREFIX)
    if not namespace or outside or bare.startswith(f"{namespace}%"):
        return name
    return f"{prefix}{namespace}%{bare}"


def without_namespace(namespace: str | None, name: str) -> str:
    prefix, bare = _split_prefix(name)
    return prefix + bare.removeprefix(f"{namespace}%") if namespace else name


def _split_prefix(name: str) -> tuple[str, str]:
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name[len(prefix) :]
    return "", name


def _text_fault(kind: str, text: str) -> str | None:
    if len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        return f"the {kind} has more than {MAX_TEXT_BYTES} bytes"
    return None if text.isprintable() else f"the {kind} has characters that cannot be printed"


def _fault(kind: str, name: str, pattern: re.Pattern[str], longest: int) -> str | None:
    if not name:
        return f"the {kind} is blank"
    if len(name) > longest:
        return f"the {kind} has {len(name)} characters, more than {longest}"
    if pattern.fullmatch(name) is None:
        return f"the {kind} {name!r} has other characters than % | a-z A-Z 0-9 _ -"
    return None
