"""The admin client without an event loop has every noun and every verb of the one with it."""

from __future__ import annotations

import importlib
import inspect

from sprocketmq.client.admin.client import AdminClient as AsyncAdminClient
from sprocketmq.client.sync.admin import AdminClient


def nouns(client: type) -> set[str]:
    return {name for name, value in vars(client).items() if isinstance(value, property)}


def verbs(module: str, noun: str) -> set[str]:
    cls = getattr(importlib.import_module(module), noun.capitalize())
    return {name for name, value in vars(cls).items() if inspect.isfunction(value) and not name.startswith("_")}


def test_every_noun_and_verb() -> None:
    assert nouns(AdminClient) == nouns(AsyncAdminClient) >= {"topics", "brokers", "controllers", "accounts"}
    for noun in nouns(AdminClient):
        assert verbs("sprocketmq.client.sync.admin", noun) == verbs(f"sprocketmq.client.admin.{noun}", noun), noun
