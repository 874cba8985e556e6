"""The pull consumer for code without an event loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from sprocketmq.client.names import full_group
from sprocketmq.client.options import ClientOptions, Connecting
from sprocketmq.client.pull.consumer import PullConsumer as AsyncPullConsumer
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import PullSettings
from sprocketmq.client.sync.facade import Facade, blocking
from sprocketmq.protocol.message_queue import MessageQueue

if TYPE_CHECKING:
    import pyarrow as pa


class PullConsumer(Facade[AsyncPullConsumer]):
    """Reads when asked; see the asyncio PullConsumer."""

    def __init__(
        self,
        group: str = "",
        nameserver: str | Sequence[str] | ClientOptions | None = None,
        *,
        settings: PullSettings | None = None,
        **connecting: Unpack[Connecting],
    ) -> None:
        options = ClientOptions.of(nameserver, **connecting)
        group = full_group(options, group)
        super().__init__(lambda: AsyncPullConsumer(group, options, settings=settings), options, group)

    subscribe = blocking(AsyncPullConsumer.subscribe)
    assign = blocking(AsyncPullConsumer.assign)
    queues = blocking(AsyncPullConsumer.queues)
    seek = blocking(AsyncPullConsumer.seek)
    seek_to_begin = blocking(AsyncPullConsumer.seek_to_begin)
    seek_to_end = blocking(AsyncPullConsumer.seek_to_end)
    seek_to_time = blocking(AsyncPullConsumer.seek_to_time)
    poll = blocking(AsyncPullConsumer.poll)
    poll_arrow = blocking(AsyncPullConsumer.poll_arrow)
    commit = blocking(AsyncPullConsumer.commit)
    committed = blocking(AsyncPullConsumer.committed)
    begin_offset = blocking(AsyncPullConsumer.begin_offset)
    end_offset = blocking(AsyncPullConsumer.end_offset)
    offset_at = blocking(AsyncPullConsumer.offset_at)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(commit=error is None)

    def stop(self, *, commit: bool = True) -> None:
        """Stop fetching, and commit what was read so far."""
        self._end(lambda client: client.stop(commit=commit))

    def assignment(self) -> set[MessageQueue]:
        return self._started().assignment()

    def position(self, queue: MessageQueue) -> int:
        return self._started().position(queue)

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        self._started().pause(queues)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        client = self._started()

        async def resume() -> None:
            client.resume(queues)

        self._run(resume())

    def __iter__(self) -> Iterator[ReceivedMessage]:
        return self._iterate(aiter(self._started()))

    def batches(self, max_messages: int = 1024) -> Iterator[list[ReceivedMessage]]:
        return self._iterate(self._started().batches(max_messages))

    def read_range(self, queue: MessageQueue, begin: int, end: int) -> Iterator[list[ReceivedMessage]]:
        return self._iterate(self._started().read_range(queue, begin, end))

    def read_range_arrow(self, queue: MessageQueue, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        return self._iterate(self._started().read_range_arrow(queue, begin, end))
