"""A WSGI application for test_web.py: what is posted to it becomes a message.

The producer is made when the module is imported, as Django's settings or a Flask module would make it: with `--preload`
that is in gunicorn's master, before the workers are forked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from sprocketmq.client import Message
from sprocketmq.client.sync import Producer

TOPIC = os.environ["WEB_TOPIC"]

producer = Producer(os.environ["WEB_GROUP"], os.environ["SPROCKET_NAMESERVER"])
producer.start()
producer.send(Message(TOPIC, b"from the master"))


def app(environ: dict[str, Any], start_response: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
    body = environ["wsgi.input"].read()
    receipt = producer.send(Message(TOPIC, body))
    submitted = producer.submit(Message(TOPIC, body + b" submitted")).result(30)
    assert receipt.ok
    assert submitted.ok
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {receipt.message_id} {submitted.message_id}".encode()]
