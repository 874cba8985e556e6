from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.unit.dashboard.site import Site


def test_the_lag_of_all_groups_is_asked_for_when_all_else_is_answered(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that has many topics counts it for long, and answers nothing else meanwhile."""
    order: list[str] = []

    def noted(name: str, ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def asked(*given: Any, **named: Any) -> Any:
            order.append(f"{name}?")
            try:
                return await ask(*given, **named)
            finally:
                order.append(name)

        return asked

    admin = site.console.open_view.admin
    for name, part, method in (
        ("groups", admin.groups, "names"), ("topics", admin.topics, "names"), ("lag", admin.brokers, "behind"),
    ):  # fmt: skip
        monkeypatch.setattr(type(part), method, noted(name, getattr(type(part), method)))
    site.get("/")
    assert order.index("lag?") > max(order.index("groups"), order.index("topics"))
