"""A Django application for test_web.py: what is posted to it becomes a message.

The producer is made when the module is imported, as settings or an AppConfig would make it: with `--preload` that is in
gunicorn's master, before the workers are forked.
"""

from __future__ import annotations

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from tests.peers.patience import PATIENT_S

from sprocketmq.client import Message, ProducerSettings
from sprocketmq.client.sync import Producer

TOPIC = os.environ["WEB_TOPIC"]

producer = Producer(
    os.environ["WEB_GROUP"],
    os.environ["SPROCKET_NAMESERVER"],
    settings=ProducerSettings(send_timeout=PATIENT_S),
    request_timeout=PATIENT_S,
    connect_timeout=PATIENT_S,
)
producer.start()
producer.send(Message(TOPIC, b"from the master"))


def take(request: HttpRequest) -> HttpResponse:
    receipt = producer.send(Message(TOPIC, request.body))
    submitted = producer.submit(Message(TOPIC, request.body + b" submitted")).result(PATIENT_S)
    assert receipt.ok
    assert submitted.ok
    return HttpResponse(f"{os.getpid()} {receipt.message_id} {submitted.message_id}")


urlpatterns = [path("", csrf_exempt(take))]
settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="of a test", ALLOWED_HOSTS=["127.0.0.1"], DEBUG=False)
app = get_wsgi_application()
