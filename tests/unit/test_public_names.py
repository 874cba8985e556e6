"""What an interactive user meets: names, signatures, completion."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys

import pytest

import sprocketmq
from sprocketmq import Message, client

CLASSES = [
    each
    for name in client.__all__
    if inspect.isclass(each := getattr(client, name)) and not issubclass(each, Exception)
]


def test_every_name_of_the_client_is_in_the_package() -> None:
    assert set(sprocketmq.__all__) == {"__version__", *client.__all__}
    for name in client.__all__:
        assert getattr(sprocketmq, name) is getattr(client, name)


def test_completion_offers_nothing_else() -> None:
    code = "import sprocketmq; print(*[name for name in dir(sprocketmq) if not name.startswith('_')])"
    offered = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(offered) == set(client.__all__)


@pytest.mark.parametrize("cls", [each for each in CLASSES if each.__name__ != "ReceiptFuture"])
def test_signatures(cls: type) -> None:
    assert inspect.signature(cls).parameters
    for name in vars(cls):
        if not name.startswith("_") and inspect.isroutine(method := getattr(cls, name)):
            inspect.signature(method)


def test_the_signature_of_a_message_is_that_of_its_constructor() -> None:
    assert list(inspect.signature(Message).parameters)[:4] == ["topic", "body", "tag", "keys"]
    assert "Message(topic: " in pydoc.plain(pydoc.render_doc(Message))
    try:
        written = inspect.signature(Message.__init__)
    except ValueError:
        return  # compiled: the interpreted form is held to it
    own = list(written.parameters.values())
    if own[1].kind is not inspect.Parameter.VAR_POSITIONAL:
        assert own[1:] == list(inspect.signature(Message).parameters.values())
