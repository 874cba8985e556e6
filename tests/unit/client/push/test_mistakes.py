"""What users get wrong is told at once, and says where to look."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.unit.client.fakes import FakeQueues, FakeTransport, routes, until
from tests.unit.client.push.test_consumer import Collector, consumer, transport

from sprocketmq.client import ConsumerSettings, InvalidName, Producer, PullConsumer, PushConsumer, sync
from sprocketmq.client.cluster import repeated_warnings
from sprocketmq.client.cluster.repeated_warnings import RepeatedWarnings
from sprocketmq.client.push.retries import RetryPlan
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.codes import RequestCode

__all__ = ["transport"]

CLIENTS = [Producer, PushConsumer, PullConsumer, sync.Producer, sync.PushConsumer, sync.PullConsumer]
CONSUMERS = [PushConsumer, sync.PushConsumer]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("group", ["bad group", "müller", "", "x" * 256])
def test_a_bad_group_raises_where_it_is_given(client: Any, group: str) -> None:
    with pytest.raises(InvalidName, match="group="):
        client(group, "ns")


@pytest.mark.parametrize("client", CLIENTS)
def test_an_unknown_keyword_says_where_the_setting_is(client: Any) -> None:
    with pytest.raises(
        TypeError, match=r"unknown keyword 'timeout'; did you mean .*ProducerSettings\(send_timeout=...\)"
    ):
        client("g", "ns", timeout=3)
    with pytest.raises(TypeError, match=r"unknown keyword 'colour'; known are namespace"):
        client("g", "ns", colour="red")


@pytest.mark.parametrize("client", CONSUMERS)
def test_a_bad_topic_raises_at_the_subscription(client: Any) -> None:
    with pytest.raises(InvalidName, match="topic='bad topic'"):
        client("g", "ns").subscribe("bad topic")(lambda message: None)


@pytest.mark.parametrize("client", CONSUMERS)
def test_handlers_that_cannot_be_called(client: Any) -> None:
    made = client("g", "ns")

    def two(a: object, b: object) -> None: ...

    def none() -> None: ...

    for wrong in (two, none):
        with pytest.raises(TypeError, match=f"{wrong.__name__}.* cannot be called with one message"):
            made.subscribe("T")(wrong)
    with pytest.raises(TypeError, match="a handler is a function, not int"):
        made.add_handler("T", 5)
    with pytest.raises(TypeError, match=r"write @consumer.subscribe\('orders'\) above .*two"):
        made.subscribe(two)
    made.subscribe("T")(lambda message, more=None: None)


@pytest.mark.parametrize("client", CONSUMERS)
def test_a_handler_whose_body_would_never_run(client: Any) -> None:
    def generator(message: object) -> Iterator[object]:
        yield message

    async def asynchronous(message: object) -> AsyncIterator[object]:
        yield message

    class Callable_:
        async def __call__(self, message: object) -> AsyncIterator[object]:
            yield message

    for wrong in (generator, asynchronous, Callable_(), functools.partial(asynchronous)):
        with pytest.raises(TypeError, match="has a yield"):
            client("g", "ns").subscribe("T")(wrong)


@pytest.mark.parametrize("client", CONSUMERS)
def test_tags_and_sql_of_the_wrong_type(client: Any) -> None:
    with pytest.raises(TypeError, match="tags must be a str, not list"):
        client("g", "ns").subscribe("T", ["a", "b"])(print)
    with pytest.raises(TypeError, match="sql must be a str, not int"):
        client("g", "ns").subscribe("T", sql=5)(print)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_given_as_settings(client: Any) -> None:
    with pytest.raises(TypeError, match=r"settings must be .*Settings, not dict"):
        client("g", "ns", settings={"retries": 1})


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"namespace": 5}, "namespace=5): must be a str"),
        ({"credentials": ("key", "secret")}, "credentials must be Credentials(...), not tuple"),
        ({"ssl": True}, "ssl must be an ssl.SSLContext, not bool"),
        ({"request_timeout": "3"}, "request_timeout='3'): must be a number"),
    ],
)
def test_connecting_options_of_the_wrong_type(client: Any, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        client("g", "ns", **wrong)


@pytest.mark.parametrize("client", CONSUMERS)
def test_a_second_handler_for_a_topic(client: Any) -> None:
    made = client("g", "ns")
    made.subscribe("T")(print)
    with pytest.raises(ValueError, match="topic T has a handler already"):
        made.subscribe("T")(repr)


@pytest.mark.parametrize("client", CONSUMERS)
def test_to_unsubscribe_from_a_topic_without_a_handler(client: Any) -> None:
    made = client("g", "ns")
    made.subscribe("orders")(print)
    for other in ("ordres", "%RETRY%g"):
        with pytest.raises(ValueError, match=f"topic {other} has no handler"):
            made.unsubscribe(other)


async def test_a_handler_makes_room_for_another() -> None:
    made = PushConsumer("g", "ns")
    made.add_handler("T", print)
    made.unsubscribe("T")
    made.add_handler("T", repr)


async def test_the_line_of_a_failed_handler(transport: FakeTransport, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_message: ReceivedMessage) -> None:
        raise TimeoutError("no answer from the shop")

    broker, handler = FakeQueues(transport, queues=1), Collector(fail)
    broker.append(b"bad", uniq_key="ID", keys="42 43")
    async with consumer(handler):
        await handler.wait(1)
    (line,) = [record for record in caplog.records if "handler failed" in record.getMessage()]
    assert line.levelname == "WARNING"
    assert "message=ID keys=42,43 try=1 of 17 next=10s" in line.getMessage()
    assert "queue=T@a:0 offset=0" in line.getMessage()
    assert "no answer from the shop" in caplog.text


async def test_the_line_of_a_handler_that_takes_too_long(
    transport: FakeTransport, caplog: pytest.LogCaptureFixture
) -> None:
    async def forever(_message: ReceivedMessage) -> None:
        await asyncio.Event().wait()

    broker = FakeQueues(transport, queues=1)
    broker.append(b"bad", uniq_key="ID")
    async with consumer(forever, settings=ConsumerSettings(consume_from="first", consume_timeout=0.01)):
        await until(lambda: bool(broker.returned))
    assert "handler took longer than 0.01 s" in caplog.text


def test_what_becomes_of_a_message_that_failed() -> None:
    from tests.unit.client.fakes import stored

    (first,) = split_records(stored(b"x", 0), "a")
    (last,) = split_records(stored(b"x", 0, reconsume_times=16), "a")
    assert RetryPlan(16).outlook(first, 0) == ("1 of 17", "10s")
    assert RetryPlan(16).outlook(first, 5) == ("1 of 17", "60s")
    assert RetryPlan(16).outlook(first, -1) == ("1 of 17", "dead-letter queue")
    assert RetryPlan(16).outlook(last, 0) == ("17 of 17", "dead-letter queue")
    assert RetryPlan(2**31 - 1, suspend=1.0).outlook(first, 0) == ("1", "1s")
    assert RetryPlan(16, broadcasting=True).outlook(first, 0) == ("1 of 17", "never")


@pytest.mark.parametrize("pop", [False, True])
async def test_an_absent_topic_is_told(transport: FakeTransport, pop: bool, caplog: pytest.LogCaptureFixture) -> None:
    transport.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = routes({})
    async with consumer(Collector(), pop=pop):
        pass
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == 1
    assert "group=g topic=T error=no route to topic T" in told[0]


def test_news_are_told_at_once_and_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    said = RepeatedWarnings(logging.getLogger("sprocketmq.test"), lambda: now)
    for now in (0.0, 1.0, 59.0, 60.0, 61.0, repeated_warnings.INTERVAL_S * 2):
        said.tell("T", "absent at %g", now)
    said.over("T")
    said.tell("T", "absent again")
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["absent at 0", "absent at 60", "absent at 120", "absent again"]


async def test_a_poll_without_queues_raises() -> None:
    async with PullConsumer("g", "127.0.0.1:1") as made:
        with pytest.raises(ValueError, match="subscribe to a topic or assign queues first"):
            await made.poll()
        with pytest.raises(ValueError, match="subscribe to a topic"):
            async for _ in made:
                pass
