"""Is the log here a part of the master's? Asked before a slave follows, for the stream itself would mix two logs.

    GET_BROKER_RUNTIME_INFO   where the master's log begins and ends
    VIEW_MESSAGE_BY_ID        the bytes at the place of the last message here: they hold its place and time, so that
                              two logs which agree in them agree in all before

Both are RocketMQ's own requests, so this protects a slave of a Java master too. A master that does not answer is not
followed: a slave that is late loses nothing, one that mixes two logs loses everything.

A log that ends before the master's begins has nothing in common with it, and nobody can give what is missing between
them: RocketMQ's slave waits for ever there. Ours begins anew. Under a controller only that is asked, for the epochs of
the stream tell the rest.
"""

from __future__ import annotations

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
    def __init__(self, store: MessageStore, client: RemotingClient, *, has_epochs: bool = False) -> None:
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
        if self._has_epochs:
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
        last = max(self._store.queues, key=lambda queue: queue.cursor.max_commit_offset, default=None)
        entry = None if last is None else last.raw_entry(last.max_offset - 1)
        if entry is None or entry.is_filler or entry.commit_offset < low:
            return
        own = self._store.log.bytes_at(entry.commit_offset, entry.size)
        fields = {"offset": str(entry.commit_offset), RAW_VIEW: "true"}
        request = Command(RequestCode.VIEW_MESSAGE_BY_ID, ext_fields=fields)
        answer = await self._client.call(master, request, _CALL_SECONDS)
        if own is not None and (answer.code != ResponseCode.SUCCESS or bytes(answer.body) != bytes(own)):
            raise LogsDiffer(
                f"the message at {entry.commit_offset} is another one at the master: the logs have diverged"
            )
