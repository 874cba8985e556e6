"""How long the body of a request may be, by its code: what is not a message need not have the room of one.

    messages        as long as a frame may be; the store refuses what is longer than a message may be
    registrations   the same: a broker tells all its topics at once
    configuration   a few lines
    no body         nothing: it would be kept for no use while the request waits
    the others      heartbeats, locks, queries and what administrators send: lists of topics, too, for whoever has an
                    account may send one, and it is read before a policy can be asked about it

The limit comes before everything else, also before a signature is checked. Pulls have none: they drop their body before
they wait.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sprocketmq.codes import RequestCode as Code

if TYPE_CHECKING:
    from sprocketmq.remoting.config import ServerConfig
    from sprocketmq.remoting.handlers import ProcessorTable

LONG = frozenset(
    {
        Code.SEND_MESSAGE, Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE, Code.SEND_REPLY_MESSAGE,
        Code.SEND_REPLY_MESSAGE_V2, Code.PULL_MESSAGE, Code.LITE_PULL_MESSAGE, Code.REGISTER_BROKER,
        Code.REGISTER_TOPIC_IN_NAMESRV,
    }
)  # fmt: skip
CONFIGURATION = frozenset(
    {Code.UPDATE_BROKER_CONFIG, Code.UPDATE_NAMESRV_CONFIG, Code.UPDATE_CONTROLLER_CONFIG, Code.PUT_KV_CONFIG}
)
BODILESS = frozenset(
    {
        Code.QUERY_MESSAGE, Code.QUERY_CONSUMER_OFFSET, Code.UPDATE_CONSUMER_OFFSET, Code.SEARCH_OFFSET_BY_TIMESTAMP,
        Code.GET_MAX_OFFSET, Code.GET_MIN_OFFSET, Code.GET_EARLIEST_MSG_STORETIME, Code.VIEW_MESSAGE_BY_ID,
        Code.UNREGISTER_CLIENT, Code.CONSUMER_SEND_MSG_BACK, Code.END_TRANSACTION, Code.GET_CONSUMER_LIST_BY_GROUP,
        Code.POP_MESSAGE, Code.PEEK_MESSAGE, Code.NOTIFICATION, Code.POLLING_INFO, Code.ACK_MESSAGE,
        Code.CHANGE_MESSAGE_INVISIBLETIME, Code.RECALL_MESSAGE, Code.GET_ROUTEINFO_BY_TOPIC,
        Code.GET_BROKER_CLUSTER_INFO, Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    }
)  # fmt: skip


def limit_bodies(table: ProcessorTable, config: ServerConfig, refused: Counter[str]) -> None:
    """Set the limits of what is in `table`, and have what they refuse counted; when every part has added its own."""
    table.refused = refused
    for code in table.codes() - LONG:
        most = config.max_body_size
        if code in CONFIGURATION:
            most = config.max_config_body_size
        elif code in BODILESS:
            most = 0
        table.limit_body(code, most)
