from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from itertools import count

import pytest

from sprocketmq.spark.worker import gc_tuning as worker


class Node:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def new_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has run no task yet, in which garbage waits until it is collected."""
    monkeypatch.setattr(worker, "_tasks", count(1))
    gc.unfreeze()
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


def test_the_second_task_freezes_what_is_there_once() -> None:
    worker.settle()
    assert gc.get_freeze_count() == 0
    worker.settle()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    later = [Node()]
    worker.settle()
    assert gc.get_freeze_count() <= frozen
    assert later


def test_garbage_is_collected_and_not_frozen() -> None:
    garbage = weakref.ref(Node())
    worker.settle()
    assert garbage() is not None
    worker.settle()
    assert garbage() is None
