"""The reference of the client's settings is what the code says, and lacks nothing."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
from scripts.client_settings import PAGE, SECTIONS, explained, page

from sprocketmq import client
from sprocketmq.client.options import Connecting

CLASSES = [cls for cls, _ in SECTIONS.values()]


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text() == page(), "run scripts/client_settings.py"


@pytest.mark.parametrize("cls", CLASSES)
def test_every_setting_is_explained(cls: type) -> None:
    texts = explained(cls)
    assert [each.name for each in dataclasses.fields(cls) if not texts.get(each.name)] == []


def test_every_class_of_settings_is_there() -> None:
    public = [getattr(client, name) for name in client.__all__]
    frozen = [each for each in public if inspect.isclass(each) and dataclasses.is_dataclass(each)]
    assert {each for each in frozen if each.__module__.endswith(("settings", "options"))} == set(CLASSES)


def test_every_keyword_of_a_client_is_an_option() -> None:
    options = {each.name for each in dataclasses.fields(client.ClientOptions)}
    assert set(Connecting.__annotations__) == options - {"nameservers", "group"}
