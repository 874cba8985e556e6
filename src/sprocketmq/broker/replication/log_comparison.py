"""Is the log here a part of the master's? Asked before a slave follows, for the stream itself would mix two logs.

    GET_BROKER_RUNTIME_INFO   where the master's log begins and ends
    VIEW_MESSAGE_BY_ID        the bytes at the place of the last message here: they hold its place and time, so that
                              two logs which agree in them agree in all before

Both are RocketMQ's own requests, so this protects a slave of a Java master too. A master that does not answer is not
followed: a slave that is late loses nothing, one that mixes two logs loses everything.

A log that ends before the master's begins has nothing in common with it, and nobody can give what is missing between
them: RocketMQ's slave waits for ever there. Ours begins anew. Under a controller only that is asked, for the epochs of
the stream tell the rest; unless the log here has none, say of a slave without a controller, or since their file was
damaged.
"""

from __future__ import annotations

from collections.abc import Callable

from sprocketmq.broker.handlers.lookup import RAW_VIEW
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.registration import KVTable
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import RemotingClient
from sprocketmq.store.store import MessageStore

_CALL_SECONDS = 5.0


class LogsDiffer(SprocketError):
    """The log here is no part of the master's: an operator must decide which of them counts."""


class LeftBehind(SprocketError):
    """The log here ends before the master's begins."""


class LogComparison:
    def __init__(
        self, store: MessageStore, client: RemotingClient, has_epochs: Callable[[], bool] = lambda: False
    ) -> None:
        self._store = store
        self._client = client
        self._has_epochs = has_epochs

    async def check(self, master: str) -> None:
        """Raises LeftBehind, LogsDiffer, or what keeps the master from answering. An empty log is a part of any."""
        end = self._store.log.max_offset
        if end == 0 or not master:  # with haMasterAddress alone there is nobody to ask
            return
        low, high = await self._range(master)
        if end < low:
            raise LeftBehind(f"the log here ends at {end}, the oldest file of the master begins at {low}")
        if self._has_epochs():
            return
        if end > high:
            raise LogsDiffer(f"the log here ends at {end}, the master's at {high}: they have diverged")
        await self._compare_last(master, low)

    async def _range(self, master: str) -> tuple[int, int]:
        answer = await self._client.call(master, Command(RequestCode.GET_BROKER_RUNTIME_INFO), _CALL_SECONDS)
        if answer.code != ResponseCode.SUCCESS:
            raise SprocketError(f"{master} does not tell the range of its log: {answer.remark}")
        table = codec.decode(KVTable, answer.body).table
        return int(table.get("commitLogMinOffset", 0)), int(table.get("commitLogMaxOffset", 0))

    async def _compare_last(self, master: str, low: int) -> None:
        at, own = self._last_record()
        if own is None or at < low:
            return
        request = Command(RequestCode.VIEW_MESSAGE_BY_ID, ext_fields={"offset": str(at), RAW_VIEW: "true"})
        answer = await self._client.call(master, request, _CALL_SECONDS)
        if answer.code != ResponseCode.SUCCESS or bytes(answer.body) != own:
            raise LogsDiffer(f"the message at {at} is another one at the master: the logs have diverged")

    def _last_record(self) -> tuple[int, bytes | None]:
        """Where it begins, and its bytes: the last that was dispatched, or behind it what is not confirmed yet."""
        store = self._store
        last = max(store.queues, key=lambda queue: queue.cursor.max_commit_offset, default=None)
        entry = None if last is None else last.raw_entry(last.max_offset - 1)
        found = None if entry is None or entry.is_filler else (entry.commit_offset, entry.size)
        for record in store.reader.records_between(store.dispatcher.dispatched_offset, store.log.max_offset):
            found = record.commit_offset, record.size
        if found is None:
            return 0, None
        own = store.log.bytes_at(*found)
        return found[0], None if own is None else bytes(own)
