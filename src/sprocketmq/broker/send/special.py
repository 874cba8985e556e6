"""Sends that are more than a message to be stored: whoever knows what is asked changes the message before it is stored.

    request -> BrokerMessage -> interceptors (retry limits, transactions, timers, delays) -> store

What is never stored is left out: the transient properties, and the check point that a message was popped under.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sprocketmq.broker.metrics.counter import Counter
from sprocketmq.broker.metrics.stats import Stats
from sprocketmq.broker.send.message import BrokerMessage, Interceptor, added_properties
from sprocketmq.broker.send.refusals import not_stored
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol import names
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.ids import UniqueIds
from sprocketmq.protocol.record.properties import DELAY, POP_CK, TRANSIENT_PREFIX, UNIQUE_KEY, decode_properties
from sprocketmq.protocol.record.sysflag import transaction_type
from sprocketmq.protocol.requests.send import SendRequest
from sprocketmq.remoting import Connection
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.store import MessageStore


class SpecialPut(NamedTuple):
    """What the answer to a special send is made of."""

    result: PutResult
    counter: Counter
    key: bytes
    recall_handle: bytes | None
    waits: bool


class SpecialSends:
    def __init__(
        self, settings: Settings, store: MessageStore, stats: Stats, unique_ids: UniqueIds,
        interceptors: Iterable[Interceptor],
    ) -> None:  # fmt: skip
        self.interceptors = list(interceptors)
        self._settings = settings
        self._store = store
        self._stats = stats
        self._unique_ids = unique_ids

    def put(self, connection: Connection, request: Command, sent: SendRequest) -> SpecialPut:
        """Raises RequestRefused, as the interceptors do."""
        message = self._message(connection, request, sent)
        key = message.properties[UNIQUE_KEY]
        for intercept in self.interceptors:
            intercept(message)
        result = message.put_to(self._store)
        if not result.ok:
            raise not_stored(self._store, result.status)
        counter = self._stats.put(message.topic, message.queue_id, 1, result.size)
        handle = message.recall_handle
        return SpecialPut(result, counter, key.encode(), None if handle is None else handle.encode(), message.waits)

    def _message(self, connection: Connection, request: Command, sent: SendRequest) -> BrokerMessage:
        properties = decode_properties(sent.properties)
        key = properties.get(UNIQUE_KEY) or self._unique_ids.next()
        properties = {name: text for name, text in properties.items() if not name.startswith(TRANSIENT_PREFIX)}
        properties.pop(POP_CK, None)
        return BrokerMessage(
            topic=sent.topic,
            queue_id=sent.queue_id,
            body=request.body,
            properties=properties | added_properties(self._settings.current) | {UNIQUE_KEY: key},
            born_timestamp=sent.born_timestamp,
            born_host=connection.peer.packed,
            flag=sent.flag,
            sys_flag=sent.sys_flag,
            reconsume_times=sent.reconsume_times,
            request=sent,
            client_version=request.version,
            peer=connection.peer,
        )


def check_batch(sent: SendRequest) -> None:
    """Interceptors know single messages only: what needs one cannot be asked of a batch."""
    is_retry = sent.topic.startswith(names.RETRY_PREFIX)
    if is_retry or transaction_type(sent.sys_flag) or DELAY in decode_properties(sent.properties):
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, "a batch cannot be retried, delayed or a transaction")
