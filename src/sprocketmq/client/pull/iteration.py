"""A loop over the messages of a pull consumer, one by one.

yielded, and the next one asked for     consumed: a commit may pass it
yielded, and the loop left              consumed when the consumer's block ends without an error
yielded, and the consumer stopped       consumed, and the loop ends
not yielded                             stays in its buffer, for the next loop or poll
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from sprocketmq.client.cluster.unreadable_records import readable
from sprocketmq.client.pull.assignment import Assignment
from sprocketmq.client.received import ReceivedMessage

_TURN = 1024  # messages of one queue before the others have their turn


async def one_by_one(assignment: Assignment, long_poll: float, namespace: str) -> AsyncIterator[ReceivedMessage]:
    """Until the consumer is stopped."""
    assignment.require_queues()
    while not assignment.is_stopped:
        assignment.finish_poll()
        await assignment.wait(long_poll)
        for buffer in assignment.in_turn():
            for _ in range(_TURN):
                taken = [] if assignment.is_stopped else buffer.take(1)
                if not taken:
                    break
                for message in readable(taken, buffer.queue):
                    message.namespace = namespace
                    yield message
                assignment.finish(buffer)
