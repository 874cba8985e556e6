"""Unique keys that do not depend on when and where a task runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.protocol.unique_ids import decode_unique_id

from sprocketmq.spark.write.unique_keys import TaskIdentity, unique_key

_TASKS = st.builds(TaskIdentity, st.text(), st.integers(0, 1 << 40), st.integers(0, 100_000))
_ROWS = st.integers(0, (1 << 32) - 1)


@given(_TASKS, _TASKS, _ROWS, _ROWS)
def test_keys_are_equal_when_task_and_row_are(one: TaskIdentity, two: TaskIdentity, row: int, other: int) -> None:
    same = (one, row) == (two, other)
    assert (unique_key(one.seal, row) == unique_key(two.seal, other)) == same


def test_a_key_reads_as_any_other() -> None:
    key = unique_key(TaskIdentity("query", 3, 1).seal, 70_000)
    found = decode_unique_id(key)
    assert (found.millis, found.instance & 0xFFFF, found.counter) == (0, 1, 70_000 - 65_536)
