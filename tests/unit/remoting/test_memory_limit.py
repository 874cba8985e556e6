from __future__ import annotations

import resource
from pathlib import Path

import pytest

from sprocketmq.remoting import memory_limit
from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.limits import Limits

MIB = 1 << 20


@pytest.mark.parametrize(
    ("address_space", "container", "expected"),
    [
        (resource.RLIM_INFINITY, None, None),
        (resource.RLIM_INFINITY, "max\n", None),
        (512 * MIB, None, 512 * MIB),
        (512 * MIB, f"{256 * MIB}\n", 256 * MIB),
        (resource.RLIM_INFINITY, f"{256 * MIB}\n", 256 * MIB),
    ],
)
async def test_budgets_fit_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address_space: int, container: str | None, expected: int | None
) -> None:
    limits = {resource.RLIMIT_AS: address_space, resource.RLIMIT_NOFILE: 1024}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], limits[which]))
    monkeypatch.setattr(memory_limit, "_CGROUPS", (str(tmp_path / "memory.max"),))
    if container is not None:
        (tmp_path / "memory.max").write_text(container)
    assert memory_limit.memory_limit() == expected
    registry = ConnectionRegistry(Limits())
    registry.fit_to_process()
    held = registry.held
    assert held.max_unfinished == (256 * MIB if expected is None else expected // 8)
    assert held.max_unread == (512 * MIB if expected is None else expected // 4)
    assert held.max_strange == held.max_unfinished // 4


@pytest.mark.parametrize(("others", "capacity"), [(None, 768), (300, 660), (2000, 128)])
async def test_others_have_their_files_first(
    monkeypatch: pytest.MonkeyPatch, others: int | None, capacity: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (1024, 1024))
    registry = ConnectionRegistry(Limits())
    registry.fit_to_process(others)
    assert registry.capacity == capacity
