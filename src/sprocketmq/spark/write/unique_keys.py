"""Unique keys that a repeated task gives again: made of what is written, not of when and where.

key  := seal:8 row_high:u16 0:u32 row_low:u16        16 bytes in upper-case hex, as any unique key
seal  = the first bytes of a hash over the writer (query or job), the micro-batch and the partition

The zeros stand where other keys have the milliseconds since the month began; tools then search from the month's start.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class TaskIdentity:
    """What a task writes: the same for every attempt at it."""

    writer: str
    batch: int
    partition: int

    @property
    def seal(self) -> str:
        text = f"{self.writer}\x00{self.batch}\x00{self.partition}"
        return hashlib.sha256(text.encode()).hexdigest()[:16].upper()


def unique_key(seal: str, row: int) -> str:
    """The key of the task's row with this number; there are 2^32 of them."""
    return f"{seal}{row >> 16:04X}00000000{row & 0xFFFF:04X}"


def current_task(job: str) -> TaskIdentity:
    """The task that runs here. In a stream the query and its micro-batch are what stays the same after a restart."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return TaskIdentity(job, 0, 0)
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    return TaskIdentity(query or job, int(batch or 0), context.partitionId())
