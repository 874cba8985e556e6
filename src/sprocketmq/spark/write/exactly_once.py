"""How a micro-batch of half messages becomes visible once, whoever dies when.

    task     sends its rows as half messages, which no consumer sees, and hands their places to the driver
    driver   writes the commit record of (query, batch), then ends every transaction in it

    who dies                   what the next run finds               what it does
    a task                     half messages in no record            nothing: the broker drops them in time
    driver, before the record  no record                             runs the batch again
    driver, after the record   the record, some messages visible     commits the others, rolls back the new ones
    broker                     SYNC_FLUSH keeps all of it            waits, and goes on

"Visible already" is asked by unique key, for Apache RocketMQ delivers a half message once for every commit it is sent.
What remains against Apache RocketMQ: its index is written some milliseconds after the message, so a driver that is
restarted within that time could commit a message twice; and without SYNC_FLUSH a broker may lose what it acknowledged.
A half message stays for as long as the broker keeps its log, so the driver may be away for that long.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from sprocketmq.client.blocking.connection import BlockingCluster, BlockingConnection
from sprocketmq.client.blocking.ordered_requests import SAFE, STORED, OrderedRequest, Pipeline, may_pass
from sprocketmq.client.cluster.requests import check, request
from sprocketmq.client.errors import ClientError
from sprocketmq.client.producer.transactions import TransactionState
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.headers.query import QueryMessageRequestHeader
from sprocketmq.protocol.headers.transaction import EndTransactionRequestHeader
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.spark.options.sink import SinkOptions
from sprocketmq.spark.write.commit_records import CommitRecords, HalfMessage

_FOREVER_MS = (1 << 62) - 1
_PAUSE_S = 0.1
#: A slave refuses the end of a transaction with the code by which a master says that it has no slave: after a commit
#: both are doubts, and whether the message is visible settles them. A half that was not rolled back is dropped in time.
_DONE = {TransactionState.COMMIT: SAFE, TransactionState.ROLLBACK: STORED}


class BatchCommit:
    """Ends the transactions of one micro-batch of one query."""

    def __init__(self, cluster: BlockingCluster, options: SinkOptions, query: str, batch: int) -> None:
        assert options.commit_location is not None
        self._cluster, self._batch = cluster, batch
        self._records = CommitRecords(options.commit_location, query)
        self._group = options.connect.full_name(options.group)
        self._patience = options.patience

    def commit(self, messages: list[HalfMessage]) -> None:
        """Make the batch visible; when it was decided in an earlier run, what was decided then."""
        decided = self._records.read(self._batch)
        if decided is None:
            self._records.write(self._batch, messages)
            self._commit(messages)
        else:
            self._commit([one for one in decided if not self.is_visible(one)])
            self._roll_back(messages, decided)

    def abort(self, messages: list[HalfMessage]) -> None:
        """Spark gave the batch up; but what is decided stays decided."""
        self._roll_back(messages, self._records.read(self._batch) or [])

    def is_visible(self, message: HalfMessage) -> bool:
        """Whether consumers can see the message already."""
        header = QueryMessageRequestHeader(
            topic=message.queue.topic, key=message.unique_key, max_num=1, begin_timestamp=0, end_timestamp=_FOREVER_MS
        )
        answer = self._cluster.insist(
            lambda: self._cluster.ask(self._cluster.address(message.queue), RequestCode.QUERY_MESSAGE, header)
        )
        return answer.code != ResponseCode.QUERY_NOT_FOUND and bool(check(answer).body)

    def _commit(self, messages: list[HalfMessage]) -> None:
        """Before a commit is sent a second time it is asked whether the first one was heard."""
        deadline = time.monotonic() + self._patience
        while messages:
            try:
                self._end(messages, TransactionState.COMMIT, patience=0)
                return
            except ClientError as error:
                if not may_pass(error) or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_S)
            self._cluster.close()
            messages = [one for one in messages if not self.is_visible(one)]

    def _roll_back(self, messages: Iterable[HalfMessage], decided: Iterable[HalfMessage]) -> None:
        kept = {(one.queue.broker_name, one.commit_offset) for one in decided}
        spare = (one for one in messages if (one.queue.broker_name, one.commit_offset) not in kept)
        self._end(spare, TransactionState.ROLLBACK, patience=self._patience)

    def _end(self, messages: Iterable[HalfMessage], state: TransactionState, *, patience: float) -> None:
        pipeline = Pipeline(self._cluster, patience, width=256)
        for number, message in enumerate(messages):
            header = self._header(message, state)
            pipeline.submit(_EndTransaction(number, message.queue, header, _DONE[state]))
        pipeline.flush()

    def _header(self, message: HalfMessage, state: TransactionState) -> EndTransactionRequestHeader:
        return EndTransactionRequestHeader(
            topic=message.queue.topic,
            producer_group=self._group,
            tran_state_table_offset=message.half_offset,
            commit_log_offset=message.commit_offset,
            commit_or_rollback=int(state),
            msg_id=message.unique_key,
            transaction_id=message.transaction_id,
            bname=message.queue.broker_name,
        )


class _EndTransaction(OrderedRequest):
    """The end of one transaction; each has a key of its own, for their order does not matter."""

    __slots__ = ("_header", "_queue")

    def __init__(
        self, key: int, queue: MessageQueue, header: EndTransactionRequestHeader, done_codes: frozenset[int]
    ) -> None:
        super().__init__(key, done_codes)
        self._queue, self._header = queue, header

    def address(self, cluster: BlockingCluster) -> str:
        return cluster.address(self._queue)

    def write(self, connection: BlockingConnection) -> int:
        return connection.send(request(RequestCode.END_TRANSACTION, self._header))

    def answered(self, answer: Command) -> None:
        """That it was heard is all there is to know."""
