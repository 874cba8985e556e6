"""Every request code: who may ask it of a server without accounts, and what it needs with them.

This is the one table: the guard of every server is made from it, the audit knows from it what a change is, and
docs/request-codes.md is written from it. A code that has no row is refused by everyone.

    role     without accounts, judged by the peer's address
    level    with accounts: what the user must be, besides what the policies must allow
    named    policies: resources whose names stand in header fields
    body     policies: resources whose names stand in the body; `needs.BODIES` reads them
    stored   the handler asks again for the topic of the stored record, for a peer may name any
    changes  it changes something: an audit line tells of it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sprocketmq.auth.authorization.resources import Action, ResourceType
from sprocketmq.codes import RequestCode as C


class Asker(Enum):
    """Who may ask without accounts. "This machine" is loopback, or the very address that was called."""

    EVERYONE = "everyone"
    ADMIN = "admin: this machine, `adminAllowFrom`"
    BROKER = "brokers: this machine, `brokerAllowFrom`"
    ADMIN_OR_BROKER = "admin or brokers: this machine, `adminAllowFrom`, `brokerAllowFrom`"
    NOBODY = "nobody"
    BY_BROKER = "nobody: only a broker asks this of a client"


class Level(Enum):
    """What a user must be."""

    USER = "any user"
    POLICY = ""
    SUPER = "Super"
    BROKER = "broker (inner user)"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Named:
    """A resource whose name is the value of `field`. `optional`: without the field nothing is needed.

    `separator` parts a list of names. A retry topic stands for its group, unless `literal`. `popped_by` is the field of
    a group: the topic that holds what its POP tries again stands for the topic that it popped.
    """

    type: ResourceType
    actions: tuple[Action, ...]
    field: str = ""
    optional: bool = False
    separator: str = ""
    literal: bool = False
    popped_by: str = ""

    def __str__(self) -> str:
        words = "/".join(action.word for action in self.actions)
        return f"{words} {self.type.word[0]}"


@dataclass(frozen=True, slots=True)
class Row:
    code: C
    asked_of: str
    role: Asker
    level: Level = Level.POLICY
    named: tuple[Named, ...] = ()
    body: tuple[Named, ...] = ()
    stored: tuple[Action, ...] = ()
    changes: bool = False
    note: str = ""

    @property
    def needs(self) -> str:
        """For the page: `Sub T, Sub G`."""
        if self.level is not Level.POLICY:
            parts = [self.level.value]
        else:
            parts = list(dict.fromkeys(str(each) for each in self.named))
            parts += [f"{each} of the body" for each in dict.fromkeys(str(each) for each in self.body)]
        if self.stored:
            parts.append(f"{'/'.join(a.word for a in self.stored)} T of the stored record")
        return ", ".join(parts) + (f"; {self.note}" if self.note else "")

    @property
    def fields(self) -> tuple[str, ...]:
        """The header fields that the decision rests on, when it rests on nothing else."""
        return tuple(each.field for each in self.named if each.field)


PUB, SUB, GET = (Action.PUB,), (Action.SUB,), (Action.GET,)
CREATE, UPDATE, DELETE = (Action.CREATE,), (Action.UPDATE,), (Action.DELETE,)
SUB_GET, GET_SUB, SUB_UPDATE = (Action.SUB, Action.GET), (Action.GET, Action.SUB), (Action.SUB, Action.UPDATE)
_NS, _BROKER, _CLIENT, _CONTROLLER = "namesrv", "broker", "client", "controller"


def _t(actions: tuple[Action, ...], field: str = "topic", **more: object) -> Named:
    return Named(ResourceType.TOPIC, actions, field, **more)  # type: ignore[arg-type]


def _g(actions: tuple[Action, ...], field: str = "consumerGroup", **more: object) -> Named:
    return Named(ResourceType.GROUP, actions, field, **more)  # type: ignore[arg-type]


def _c(actions: tuple[Action, ...], field: str = "") -> Named:
    return Named(ResourceType.CLUSTER, actions, field)


def _open(code: C, *named: Named, asked_of: str = _BROKER, **more: object) -> Row:
    """What clients ask."""
    return Row(code, asked_of, Asker.EVERYONE, named=named, **more)  # type: ignore[arg-type]


def _any(code: C, asked_of: str = _NS) -> Row:
    return Row(code, asked_of, Asker.EVERYONE, Level.USER)


def _read(code: C, *named: Named, asked_of: str = _BROKER, **more: object) -> Row:
    """What shows secrets, addresses or other people's data."""
    return Row(code, asked_of, Asker.ADMIN, named=named, **more)  # type: ignore[arg-type]


def _change(code: C, *named: Named, asked_of: str = _BROKER, **more: object) -> Row:
    return Row(code, asked_of, Asker.ADMIN, named=named, changes=True, **more)  # type: ignore[arg-type]


def _super(code: C, *, changes: bool = True) -> Row:
    return Row(code, _BROKER, Asker.ADMIN, Level.SUPER, changes=changes)


def _broker(code: C, asked_of: str = _NS, note: str = "") -> Row:
    return Row(code, asked_of, Asker.BROKER, Level.BROKER, note=note)


def _replica(code: C) -> Row:
    """What a slave copies from its master; tools look at it as well."""
    return Row(code, "master", Asker.ADMIN_OR_BROKER, named=(_c(GET),))


def _nobody(*codes: C) -> Iterator[Row]:
    return (Row(code, _BROKER, Asker.NOBODY, Level.NOBODY) for code in codes)


def _to_client(*codes: C) -> Iterator[Row]:
    return (Row(code, _CLIENT, Asker.BY_BROKER, Level.NOBODY) for code in codes)


# In RocketMQ's order: a refusal names the first that is not allowed.
_TOPIC_AND_GROUP = (_t(SUB), _g(SUB))
_GROUP_AND_TOPIC = (_g(SUB), _t(SUB))
_GROUP_AND_POPPED_TOPIC = (_g(SUB), _t(SUB, popped_by="consumerGroup"))
_BODY_GROUP_AND_TOPIC = (_g(SUB, ""), _t(SUB, ""))

ROWS: tuple[Row, ...] = (
    # Messages.
    _open(C.SEND_MESSAGE, _t(PUB)),
    _open(C.SEND_MESSAGE_V2, _t(PUB, "b")),
    _open(C.SEND_BATCH_MESSAGE, _t(PUB, "b")),
    _open(C.SEND_REPLY_MESSAGE, _t(PUB), note="the asker must be online"),
    _open(C.SEND_REPLY_MESSAGE_V2, _t(PUB, "b"), note="the asker must be online"),
    _open(C.PULL_MESSAGE, *_TOPIC_AND_GROUP),
    _open(C.LITE_PULL_MESSAGE, *_TOPIC_AND_GROUP),
    _open(C.QUERY_MESSAGE, _t(SUB_GET, literal=True)),
    _open(C.VIEW_MESSAGE_BY_ID, stored=GET_SUB),
    _open(C.CONSUMER_SEND_MSG_BACK, _g(SUB, "group"), stored=SUB),
    _open(C.END_TRANSACTION, stored=PUB),
    _open(C.RECALL_MESSAGE, _t(PUB, literal=True)),
    _open(C.POP_MESSAGE, *_GROUP_AND_TOPIC),
    _open(C.ACK_MESSAGE, *_GROUP_AND_POPPED_TOPIC),
    _open(C.PEEK_MESSAGE, *_TOPIC_AND_GROUP),
    _open(C.CHANGE_MESSAGE_INVISIBLETIME, *_GROUP_AND_POPPED_TOPIC),
    _open(C.NOTIFICATION, *_GROUP_AND_TOPIC),
    _open(C.POLLING_INFO, _g(GET), _t(GET)),
    _open(C.BATCH_ACK_MESSAGE, body=_BODY_GROUP_AND_TOPIC),
    # Offsets.
    _open(C.QUERY_CONSUMER_OFFSET, _t(SUB_GET), _g(SUB_GET)),
    _open(C.UPDATE_CONSUMER_OFFSET, _t(SUB_UPDATE), _g(SUB_UPDATE)),
    _open(C.SEARCH_OFFSET_BY_TIMESTAMP, _t(GET_SUB)),
    _open(C.GET_MAX_OFFSET, _t(GET_SUB)),
    _open(C.GET_MIN_OFFSET, _t(GET_SUB)),
    _open(C.GET_EARLIEST_MSG_STORETIME, _t(GET_SUB)),
    # Clients.
    _open(C.HEART_BEAT, body=_BODY_GROUP_AND_TOPIC),
    _open(C.UNREGISTER_CLIENT, _g(SUB, optional=True), note="own connection only"),
    _open(C.GET_CONSUMER_LIST_BY_GROUP, _g(SUB_GET)),
    _open(C.LOCK_BATCH_MQ, body=_BODY_GROUP_AND_TOPIC),
    _open(C.UNLOCK_BATCH_MQ, body=_BODY_GROUP_AND_TOPIC),
    _open(C.CHECK_CLIENT_CONFIG, body=_BODY_GROUP_AND_TOPIC),
    _open(C.QUERY_ASSIGNMENT, body=_BODY_GROUP_AND_TOPIC),
    # Figures.
    _open(C.GET_ALL_TOPIC_CONFIG, _c(GET)),
    _open(C.GET_BROKER_RUNTIME_INFO, _c(GET)),
    _open(C.GET_BROKER_CLUSTER_ACL_INFO, _c(GET)),
    _open(C.GET_TOPIC_STATS_INFO, _t(GET)),
    _open(C.GET_CONSUME_STATS, _g(GET), _t(GET, optional=True), _t(GET, "topicList", optional=True, separator=";")),
    _open(C.QUERY_TOPIC_CONSUME_BY_WHO, _t(GET)),
    _open(C.QUERY_CONSUME_TIME_SPAN, _t(GET), _g(GET, "group")),
    _any(C.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, _BROKER),
    _open(
        C.QUERY_CORRECTION_OFFSET,
        _g(GET, "filterGroups", optional=True, separator=","),
        _g(GET, "compareGroup"),
        _t(GET),
    ),
    _open(C.VIEW_BROKER_STATS_DATA, _c(GET)),
    _open(C.GET_BROKER_CONSUME_STATS, _c(GET)),
    _open(C.QUERY_CONSUME_QUEUE, _t(GET), _g(GET, optional=True)),
    _open(C.QUERY_TOPICS_BY_CONSUMER, _g(GET, "group")),
    _open(C.QUERY_SUBSCRIPTION_BY_CONSUMER, _g(GET, "group"), _t(GET, optional=True)),
    _open(C.GET_TOPIC_CONFIG, _t(GET)),
    _open(C.GET_SUBSCRIPTIONGROUP_CONFIG, _g(GET, "group")),
    _open(C.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, _t(GET)),
    _open(C.GET_BROKER_HA_STATUS, _c(GET)),
    _open(C.GET_BROKER_EPOCH_CACHE, _c(GET)),
    _open(C.GET_COLD_DATA_FLOW_CTR_INFO, _c(GET)),
    # Reads that are not for everybody.
    _read(C.GET_BROKER_CONFIG, _c(GET), note="secrets hidden"),
    _read(C.GET_CONSUMER_CONNECTION_LIST, _g(GET)),
    _read(C.GET_PRODUCER_CONNECTION_LIST, _c(GET)),
    _read(C.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, _t(GET), _g(GET, "group")),
    _read(C.GET_CONSUMER_RUNNING_INFO, _g(GET), asked_of="consumer, through its broker"),
    _read(C.GET_ALL_PRODUCER_INFO, _c(GET)),
    _replica(C.GET_ALL_CONSUMER_OFFSET),
    _replica(C.GET_ALL_DELAY_OFFSET),
    _replica(C.GET_TIMER_CHECK_POINT),
    _replica(C.GET_TIMER_METRICS),
    _replica(C.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
    _replica(C.GET_ALL_MESSAGE_REQUEST_MODE),
    # Changes.
    _change(C.UPDATE_AND_CREATE_TOPIC, _t(CREATE)),
    _change(C.UPDATE_AND_CREATE_TOPIC_LIST, body=(_t(CREATE, ""),)),
    _change(C.UPDATE_AND_CREATE_STATIC_TOPIC, _t(CREATE)),
    _change(C.DELETE_TOPIC_IN_BROKER, _t(DELETE)),
    _change(C.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=(_g(CREATE, ""),)),
    _change(C.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body=(_g(CREATE, ""),)),
    _change(C.DELETE_SUBSCRIPTIONGROUP, _g(DELETE, "groupName")),
    _change(C.UPDATE_AND_GET_GROUP_FORBIDDEN, _g(UPDATE, "group"), _t(UPDATE)),
    _change(C.SET_MESSAGE_REQUEST_MODE, body=(_g(UPDATE, ""),)),
    _change(C.INVOKE_BROKER_TO_RESET_OFFSET, _g(UPDATE, "group"), _t(UPDATE)),
    _change(C.CLONE_GROUP_OFFSET, _g(UPDATE, "destGroup"), _t(UPDATE, optional=True)),
    _change(C.CONSUME_MESSAGE_DIRECTLY, _g(SUB), stored=SUB, asked_of="consumer, through its broker"),
    _change(C.RESUME_CHECK_HALF_MESSAGE, _t(UPDATE), stored=UPDATE),
    _change(C.UPDATE_BROKER_CONFIG, _c(UPDATE)),
    _change(C.CLEAN_EXPIRED_CONSUMEQUEUE, _c(UPDATE)),
    _change(C.CLEAN_UNUSED_TOPIC, _c(UPDATE)),
    _change(C.DELETE_EXPIRED_COMMITLOG, _c(UPDATE)),
    _change(C.EXPORT_ROCKSDB_CONFIG_TO_JSON, _c(GET)),
    _change(C.RESET_MASTER_FLUSH_OFFSET, _c(UPDATE)),
    _change(C.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, _c(UPDATE)),
    _change(C.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, _c(UPDATE)),
    _change(C.SET_COMMITLOG_READ_MODE, _c(UPDATE)),
    _change(C.POP_ROLLBACK, _c(UPDATE)),
    _change(C.ADD_BROKER, _c(UPDATE), asked_of="container"),
    _change(C.REMOVE_BROKER, _c(UPDATE, "brokerClusterName"), asked_of="container"),
    # Accounts. With less than Super whoever may change the cluster could give itself everything.
    _super(C.UPDATE_AND_CREATE_ACL_CONFIG),
    _super(C.DELETE_ACL_CONFIG),
    _super(C.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG),
    _super(C.AUTH_CREATE_USER),
    _super(C.AUTH_UPDATE_USER),
    _super(C.AUTH_DELETE_USER),
    _super(C.AUTH_GET_USER, changes=False),
    _super(C.AUTH_LIST_USER, changes=False),
    _super(C.AUTH_CREATE_ACL),
    _super(C.AUTH_UPDATE_ACL),
    _super(C.AUTH_DELETE_ACL),
    _read(C.AUTH_GET_ACL, _c(GET)),
    _read(C.AUTH_LIST_ACL, _c(GET)),
    # The nameserver.
    _any(C.GET_ROUTEINFO_BY_TOPIC),
    _any(C.GET_BROKER_CLUSTER_INFO),
    _any(C.GET_ALL_TOPIC_LIST_FROM_NAMESERVER),
    _any(C.GET_TOPICS_BY_CLUSTER),
    _any(C.GET_SYSTEM_TOPIC_LIST_FROM_NS),
    _any(C.GET_UNIT_TOPIC_LIST),
    _any(C.GET_HAS_UNIT_SUB_TOPIC_LIST),
    _any(C.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST),
    _open(C.GET_KV_CONFIG, _c(GET), asked_of=_NS),
    _open(C.GET_KVLIST_BY_NAMESPACE, _c(GET), asked_of=_NS),
    _read(C.GET_NAMESRV_CONFIG, _c(GET), asked_of=_NS),
    _change(C.PUT_KV_CONFIG, _c(UPDATE), asked_of=_NS),
    _change(C.DELETE_KV_CONFIG, _c(UPDATE), asked_of=_NS),
    _change(C.WIPE_WRITE_PERM_OF_BROKER, _c(UPDATE), asked_of=_NS),
    _change(C.ADD_WRITE_PERM_OF_BROKER, _c(UPDATE), asked_of=_NS),
    _change(C.DELETE_TOPIC_IN_NAMESRV, _c(UPDATE, "clusterName"), asked_of=_NS),
    _change(C.UPDATE_NAMESRV_CONFIG, _c(UPDATE), asked_of=_NS),
    _broker(C.REGISTER_BROKER),
    _broker(C.UNREGISTER_BROKER, note="its own registration only"),
    _broker(C.REGISTER_TOPIC_IN_NAMESRV),
    _broker(C.QUERY_DATA_VERSION),
    _broker(C.GET_BROKER_MEMBER_GROUP),
    _broker(C.BROKER_HEARTBEAT, "namesrv, controller"),
    # Replication, and the controller.
    _broker(C.EXCHANGE_BROKER_HA_INFO, "master"),
    _broker(C.NOTIFY_MIN_BROKER_ID_CHANGE, _BROKER),
    _broker(C.NOTIFY_BROKER_ROLE_CHANGED, _BROKER),
    _broker(C.CONTROLLER_ALTER_SYNC_STATE_SET, _CONTROLLER),
    _broker(C.CONTROLLER_REGISTER_BROKER, _CONTROLLER),
    _broker(C.CONTROLLER_GET_NEXT_BROKER_ID, _CONTROLLER),
    _broker(C.CONTROLLER_APPLY_BROKER_ID, _CONTROLLER),
    Row(
        C.CONTROLLER_ELECT_MASTER, _CONTROLLER, Asker.ADMIN_OR_BROKER, named=(_c(UPDATE, "clusterName"),), changes=True
    ),
    Row(C.CONTROLLER_GET_REPLICA_INFO, _CONTROLLER, Asker.ADMIN_OR_BROKER, named=(_c(GET),)),
    _open(C.CONTROLLER_GET_METADATA_INFO, _c(GET), asked_of=_CONTROLLER),
    _open(C.CONTROLLER_GET_SYNC_STATE_DATA, _c(GET), asked_of=_CONTROLLER),
    _change(C.UPDATE_CONTROLLER_CONFIG, _c(UPDATE), asked_of=_CONTROLLER),
    _read(C.GET_CONTROLLER_CONFIG, _c(GET), asked_of=_CONTROLLER),
    _change(C.CLEAN_BROKER_DATA, _c(UPDATE, "clusterName"), asked_of=_CONTROLLER),
    # Asked of clients alone, or of nobody any more.
    *_to_client(
        C.CHECK_TRANSACTION_STATE,
        C.NOTIFY_CONSUMER_IDS_CHANGED,
        C.SUSPEND_CONSUMER,
        C.RESUME_CONSUMER,
        C.RESET_CONSUMER_OFFSET_IN_CONSUMER,
        C.RESET_CONSUMER_OFFSET_IN_BROKER,
        C.ADJUST_CONSUMER_THREAD_POOL,
        C.WHO_CONSUME_THE_MESSAGE,
        C.RESET_CONSUMER_CLIENT_OFFSET,
        C.GET_CONSUMER_STATUS_FROM_CLIENT,
        C.PUSH_REPLY_MESSAGE_TO_CLIENT,
    ),
    *_nobody(
        C.QUERY_BROKER_OFFSET,
        C.GET_TOPIC_CONFIG_LIST,
        C.GET_TOPIC_NAME_LIST,
        C.TRIGGER_DELETE_FILES,
        C.GET_CLIENT_CONFIG,
        C.REGISTER_FILTER_SERVER,
        C.REGISTER_MESSAGE_FILTER_CLASS,
    ),
)

REQUESTS: dict[int, Row] = {int(row.code): row for row in sorted(ROWS, key=lambda row: row.code)}
"""By code."""

CHANGES = frozenset(row.code for row in ROWS if row.changes)
"""Requests that change something, whoever answers them."""
