from __future__ import annotations

import resource

import pytest

from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.limits import Limits


@pytest.mark.parametrize(
    ("allowed", "open_files", "capacity"),
    [(50_000, 1024, 768), (100, 1024, 100), (50_000, resource.RLIM_INFINITY, 50_000)],
)
async def test_connections_leave_descriptors_to_others(
    monkeypatch: pytest.MonkeyPatch, allowed: int, open_files: int, capacity: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (open_files, open_files))
    registry = ConnectionRegistry(Limits(max_connections=allowed))
    registry.fit_to_process()
    assert registry.capacity == capacity
