"""What the dispatcher gathers is what comes out when each record is dispatched by itself."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stores import NAMES, unpack

from sprocketmq.store.view import StoreView
from sprocketmq.store.view.redispatch import Redispatch

Hurt = Callable[[Path], None]


def leave(_root: Path) -> None:
    """As the broker left it, but for the crash."""


def lose_queues(root: Path) -> None:
    shutil.rmtree(root / "consumequeue")


def lose_some_entries(root: Path) -> None:
    """Each queue file loses what lies behind some place, or one sector in its middle."""
    rng = random.Random(7)
    for path in sorted((root / "consumequeue").rglob("0" * 20)):
        data = bytearray(path.read_bytes())
        at = rng.randrange(len(data.rstrip(b"\0")) + 1)
        end = len(data) if rng.random() < 0.5 else at // 512 * 512 + 512
        data[at:end] = bytes(len(data[at:end]))
        path.write_bytes(data)


def lose_some_records(root: Path) -> None:
    """A hole in the log; where the checkpoint vouches for what follows, the log goes on behind it."""
    path = sorted((root / "commitlog").iterdir())[0]
    data = bytearray(path.read_bytes())
    at = len(data.rstrip(b"\0")) // 2
    data[at : at + 40] = bytes(40)
    path.write_bytes(data)


def recovered(root: Path) -> dict[str, Any]:
    view = StoreView(root)
    return {
        "end": view.log_end,
        "damage": view.damage,
        "queues": {key: list(queue.entries(0, 1 << 40)) for key, queue in view.queues.items()},
        "bounds": {key: (queue.min_offset, queue._on_disk, queue.max_offset) for key, queue in view.queues.items()},
        "indexes": [(index.name, index.header) for index in view.indexes],
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hurt", [leave, lose_queues, lose_some_entries, lose_some_records])
def test_both_ways_lead_to_the_same_store(
    name: str, hurt: Hurt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = unpack(name, tmp_path).root
    (root / "abort").touch()
    hurt(root)
    found = recovered(root)
    monkeypatch.setattr(Redispatch, "run", lambda _self, at: at)
    assert found == recovered(root)


def test_the_dispatcher_takes_all_that_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = unpack(NAMES[0], tmp_path).root
    lose_queues(root)
    (root / "abort").touch()

    def refuse(_self: StoreView, record: object) -> None:
        raise AssertionError(record)

    monkeypatch.setattr(StoreView, "_dispatch", refuse)
    assert sum(queue.max_offset for queue in StoreView(root).queues.values()) > 0
