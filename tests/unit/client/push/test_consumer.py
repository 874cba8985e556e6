from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.unit.client.fakes import FakeQueues, FakeTransport, instance, route, routes, stores, until

from sprocketmq.client.cluster.instance import ClientInstance
from sprocketmq.client.errors import Closed, TimedOut, Unreachable
from sprocketmq.client.push import consumer as push_module
from sprocketmq.client.push.consumer import PushConsumer
from sprocketmq.client.push.handlers import ConsumeResult, Retry
from sprocketmq.client.received import ReceivedMessage
from sprocketmq.client.settings import ConsumerSettings, FlowLimits
from sprocketmq.client.telemetry.trace_records import parse_records
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.message_queue import MessageQueue

FIRST = ConsumerSettings(consume_from="first")
QUEUE = MessageQueue("T", "a", 0)


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    made = FakeTransport()

    async def stop(used: ClientInstance, consumer: str) -> None:
        await used.stop()

    def start(options: object, consumer: str) -> ClientInstance:
        used = instance(made)
        used.start()
        return used

    monkeypatch.setattr(push_module, "acquire", start)
    monkeypatch.setattr(push_module, "release", stop)
    return made


class Collector:
    """A handler that remembers, and can be waited for."""

    def __init__(self, verdict: Callable[[ReceivedMessage], Any] = lambda _: None) -> None:
        self.bodies: list[bytes] = []
        self._verdict = verdict
        self._more = asyncio.Event()

    async def __call__(self, message: ReceivedMessage) -> Any:
        self.bodies.append(message.body)
        self._more.set()
        return self._verdict(message)

    async def wait(self, count: int) -> list[bytes]:
        async with asyncio.timeout(60):
            while len(self.bodies) < count:
                self._more.clear()
                await self._more.wait()
        return self.bodies


def consumer(handler: Any, *, settings: ConsumerSettings = FIRST, batch: int | None = None, **how: Any) -> PushConsumer:
    made = PushConsumer("g", "ns", settings=settings, **how)
    made.add_handler("T", handler, batch=batch)
    return made


async def test_consumes_every_queue_and_commits_at_the_end(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport), Collector()
    for i in range(6):
        broker.append(b"%d" % i, i % 2)
    async with consumer(handler) as made:
        assert sorted(await handler.wait(6)) == [b"%d" % i for i in range(6)]
        assert made.assignment() == {MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)}
    assert broker.committed["T", 0] == broker.committed["T", 1] == 3
    assert transport.commands(RequestCode.UNREGISTER_CLIENT)


async def test_a_commit_that_fails_at_the_stop_is_tried_again(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    broker.append(b"x")

    def update(address: str, command: Command) -> Command:
        if len(transport.commands(RequestCode.UPDATE_CONSUMER_OFFSET)) == 1:
            raise TimedOut("no answer")
        return broker.update_offset(address, command)

    transport.answers[RequestCode.UPDATE_CONSUMER_OFFSET] = update
    settings = ConsumerSettings(consume_from="first", persist_interval=3600, stop_timeout=60)
    async with consumer(handler, settings=settings):
        await handler.wait(1)
        assert broker.committed == {}
    assert broker.committed["T", 0] == 1
    order = [command.code for _, command in transport.asked]
    last_commit = len(order) - order[::-1].index(RequestCode.UPDATE_CONSUMER_OFFSET)
    assert RequestCode.UNREGISTER_CLIENT not in order[:last_commit]


async def test_what_stays_uncommitted_after_the_stop_is_told(
    transport: FakeTransport, caplog: pytest.LogCaptureFixture
) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    broker.append(b"x")
    broker.committed["T", 0] = 0

    def update(address: str, _command: Command) -> Command:
        raise Unreachable(address, "gone")

    transport.answers[RequestCode.UPDATE_CONSUMER_OFFSET] = update
    settings = ConsumerSettings(consume_from="first", persist_interval=3600, stop_timeout=0.0)
    async with consumer(handler, settings=settings) as made:
        await handler.wait(1)
        await until(lambda: made.consumed_offsets("T") == {QUEUE: 1})
    told = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert any(f"not committed group=g queue={QUEUE} offset=1 committed=0" in each for each in told)


async def test_goes_on_where_the_group_was(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    for i in range(4):
        broker.append(b"%d" % i)
    broker.committed["T", 0] = 2
    async with consumer(handler):
        assert await handler.wait(2) == [b"2", b"3"]


async def test_a_new_group_begins_at_the_end(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    broker.append(b"old")
    async with consumer(handler, settings=ConsumerSettings()) as made:
        await until(lambda: bool(transport.commands(RequestCode.PULL_MESSAGE)))
        broker.append(b"new")
        assert await handler.wait(1) == [b"new"]
        assert made.assignment()


@pytest.mark.parametrize(
    ("verdict", "level"), [(ConsumeResult.RETRY, "0"), (False, "0"), (Retry(5), "5"), (Retry(-1), "-1")]
)
async def test_failures_go_back_to_the_broker(transport: FakeTransport, verdict: Any, level: str) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector(lambda _: verdict)
    broker.append(b"bad")
    async with consumer(handler):
        await handler.wait(1)
    assert broker.returned[0]["delayLevel"] == level
    assert broker.returned[0]["maxReconsumeTimes"] == "16"
    assert broker.committed["T", 0] == 1


async def test_an_exception_is_a_retry_and_hurts_nobody_else(transport: FakeTransport) -> None:
    def fail(message: ReceivedMessage) -> None:
        if message.body == b"bad":
            raise ValueError("no")

    broker, handler = FakeQueues(transport, queues=1), Collector(fail)
    broker.append(b"bad")
    broker.append(b"good")
    async with consumer(handler):
        await handler.wait(2)
    assert len(broker.returned) == 1
    assert broker.committed["T", 0] == 2


async def test_unwanted_tags_are_dropped_to_the_letter(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    broker.append(b"same hash", tags="BB")
    broker.append(b"wanted", tags="Aa")  # "Aa" and "BB" have one hash
    made = PushConsumer("g", "ns", settings=FIRST)
    made.add_handler("T", handler, "Aa")
    async with made:
        assert await handler.wait(1) == [b"wanted"]
    assert broker.committed["T", 0] == 2


async def test_sync_and_batch_handlers(transport: FakeTransport) -> None:
    broker, seen = FakeQueues(transport, queues=1), list[list[bytes]]()
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def handle(messages: Sequence[ReceivedMessage]) -> None:
        seen.append([message.body for message in messages])
        loop.call_soon_threadsafe(done.set)

    for i in range(5):
        broker.append(b"%d" % i)
    async with consumer(handle, batch=10):
        await asyncio.wait_for(done.wait(), 60)
    assert seen == [[b"0", b"1", b"2", b"3", b"4"]]


@pytest.mark.parametrize("orderly", [False, True])
async def test_each_handler_has_its_own_batch(transport: FakeTransport, orderly: bool) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    for i in range(5):
        broker.append(b"%d" % i)
    made = consumer(handler, orderly=orderly)
    made.add_handler("U", lambda messages: None, batch=10)
    async with made:
        assert sorted(await handler.wait(5)) == [b"0", b"1", b"2", b"3", b"4"]
    assert broker.committed["T", 0] == 5


@pytest.mark.parametrize("orderly", [False, True])
async def test_a_batch_handler_of_a_started_consumer_gets_batches(transport: FakeTransport, orderly: bool) -> None:
    broker, seen = FakeQueues(transport, queues=1), asyncio.Queue[list[bytes]]()

    async def handle(messages: Sequence[ReceivedMessage]) -> None:
        seen.put_nowait([message.body for message in messages])

    for i in range(5):
        broker.append(b"%d" % i)
    async with PushConsumer("g", "ns", settings=FIRST, orderly=orderly) as made, asyncio.timeout(60):
        made.add_handler("T", handle, batch=3)
        assert [await seen.get(), await seen.get()] == [[b"0", b"1", b"2"], [b"3", b"4"]]


async def test_orderly_holds_the_queue_until_the_message_succeeds(transport: FakeTransport) -> None:
    broker = FakeQueues(transport, queues=1)
    handler = Collector(lambda m: ConsumeResult.RETRY if m.body == b"1" and m.reconsume_times < 2 else None)
    for i in range(3):
        broker.append(b"%d" % i)
    settings = ConsumerSettings(consume_from="first", suspend=0.001)
    async with consumer(handler, settings=settings, orderly=True):
        assert await handler.wait(5) == [b"0", b"1", b"1", b"1", b"2"]
    assert broker.returned == []
    assert broker.committed["T", 0] == 3


async def test_orderly_gives_up_after_its_tries(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector(lambda m: m.body != b"bad")
    broker.append(b"bad")
    broker.append(b"good")
    settings = ConsumerSettings(consume_from="first", suspend=0.001, max_reconsume_times=2)
    async with consumer(handler, settings=settings, orderly=True):
        assert await handler.wait(4) == [b"bad", b"bad", b"bad", b"good"]
    assert len(broker.returned) == 1


async def test_orderly_takes_no_queue_without_its_lock(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    broker.locked = False
    broker.append(b"0")
    async with consumer(handler, orderly=True) as made:
        assert made.assignment() == set()
        broker.locked = True
        made.rebalance_soon()
        await handler.wait(1)
    assert transport.commands(RequestCode.UNLOCK_BATCH_MQ)


async def test_shares_with_others_and_lets_go(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=4), Collector()
    async with consumer(handler) as made:
        assert len(made.assignment()) == 4
        broker.members.append("zzz@other")
        made.rebalance_soon()
        await until(lambda: len(made.assignment()) == 2)
        assert {queue.queue_id for queue in made.assignment()} == {0, 1}


async def test_broadcasting_keeps_its_offsets_in_a_file(transport: FakeTransport, tmp_path: Any) -> None:
    broker = FakeQueues(transport)
    broker.append(b"0", 0)
    broker.append(b"1", 1)
    settings = ConsumerSettings(consume_from="first", offsets_path=tmp_path / "offsets.json")
    first = Collector(lambda _: ConsumeResult.RETRY)
    async with consumer(first, settings=settings, broadcasting=True):
        await first.wait(2)
    assert broker.committed == {}
    assert broker.returned == []
    broker.append(b"2", 1)
    second = Collector()
    async with consumer(second, settings=settings, broadcasting=True):
        assert await second.wait(1) == [b"2"]


async def test_offset_out_of_range_follows_the_broker(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    broker.committed["T", 0] = 100
    async with consumer(handler):
        await until(lambda: len(transport.commands(RequestCode.PULL_MESSAGE)) >= 2)
        broker.append(b"after")
        assert await handler.wait(1) == [b"after"]


async def test_a_broker_that_forgot_us_gets_a_heartbeat(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    refused = 0

    async def pull(address: str, command: Command) -> Command:
        nonlocal refused
        if not refused:
            refused += 1
            return command.reply(ResponseCode.SUBSCRIPTION_NOT_EXIST, "who are you")
        return await broker.pull(address, command)

    transport.answers[RequestCode.PULL_MESSAGE] = pull
    broker.append(b"x")
    async with consumer(handler, settings=ConsumerSettings(consume_from="first", retry_pause=0.001)):
        await handler.wait(1)
        await until(lambda: len(transport.commands(RequestCode.HEART_BEAT)) >= 2)


async def test_flow_control_stops_pulling(transport: FakeTransport) -> None:
    broker, gate = FakeQueues(transport, queues=1), asyncio.Event()
    taken: list[bytes] = []

    async def slow(message: ReceivedMessage) -> None:
        taken.append(message.body)
        await gate.wait()

    for i in range(100):
        broker.append(b"%d" % i)
    settings = ConsumerSettings(consume_from="first", concurrency=1, pull_batch=10, limits=FlowLimits(count=20))
    async with consumer(slow, settings=settings):
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(transport.commands(RequestCode.PULL_MESSAGE)) == 2
        assert taken == [b"0"]
        gate.set()
        await until(lambda: len(taken) == 100)


async def test_pause_and_resume(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    broker.append(b"0")
    async with consumer(handler, settings=ConsumerSettings(consume_from="first", long_poll=0.01)) as made:
        await handler.wait(1)
        made.pause()
        broker.append(b"1")  # answers the pull that is under way
        await handler.wait(2)
        broker.append(b"2")
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(handler.bodies) == 2
        made.resume()
        await handler.wait(3)


def test_pop_excludes_order_and_broadcast() -> None:
    with pytest.raises(ValueError, match="pop"):
        PushConsumer("g", "ns", pop=True, orderly=True)


async def test_replies_are_sends_that_hooks_see(transport: FakeTransport) -> None:
    """The trace of a consumer tells of its replies; a record travels to the trace topic when the consumer stops."""
    broker, question = FakeQueues(transport, queues=1), asyncio.Future[ReceivedMessage]()
    known = {"T": route("a", queues=1), "c_REPLY_TOPIC": route("a", queues=1), "traces": route("a", queues=1)}
    transport.answers |= {
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes(known),
        RequestCode.SEND_REPLY_MESSAGE_V2: stores(),
        RequestCode.SEND_MESSAGE_V2: stores(),
    }
    broker.append(b"?", correlation_id="1", reply_to_client="someone", cluster="c")

    async def handle(message: ReceivedMessage) -> None:
        question.set_result(message)

    async with consumer(handle, trace="traces") as made:
        await made.reply(await question, b"!")
    traced = b"".join(command.body for command in transport.commands(RequestCode.SEND_MESSAGE_V2)).decode()
    assert [r.topic for r in parse_records(traced) if r.kind == "Pub"] == ["c_REPLY_TOPIC"]


async def test_a_handler_may_stop_its_consumer(transport: FakeTransport) -> None:
    """Nobody waits for the other, and what the handler had in hand is committed."""
    broker = FakeQueues(transport, queues=2)
    broker.append(b"x")
    broker.append(b"y", 1)
    settings = ConsumerSettings(consume_from="first", stop_timeout=3600)

    async def handle(_message: ReceivedMessage) -> None:
        await made.stop()

    made = consumer(handle, settings=settings)
    async with asyncio.timeout(60), made:
        await made.run_forever()
    assert sum(broker.committed.values()) == 2
    assert transport.commands(RequestCode.UNREGISTER_CLIENT)


async def test_whoever_stops_second_waits_as_well(transport: FakeTransport) -> None:
    FakeQueues(transport)
    made = await consumer(Collector()).start()
    first = asyncio.ensure_future(made.stop())
    await asyncio.sleep(0)
    await made.stop()
    assert transport.commands(RequestCode.UNREGISTER_CLIENT)
    await first


async def test_a_consumer_runs_for_ever_after_it_was_started_again(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport, queues=1), Collector()
    made = consumer(handler)
    with pytest.raises(Closed, match="the consumer is not started"):
        await made.run_forever()
    for count in (1, 2):
        broker.append(b"x")
        broker.members.clear()
        async with made:
            running = asyncio.ensure_future(made.run_forever(signals=False))
            await handler.wait(count)
            assert not running.done()
        await running


@pytest.mark.parametrize("orderly", [False, True])
async def test_an_unsubscribed_topic_is_let_go(transport: FakeTransport, orderly: bool) -> None:
    """And its messages go to no other handler, nor back to the broker."""
    broker, handler, other = FakeQueues(transport, queues=1), Collector(), Collector()
    async with consumer(handler, orderly=orderly) as made:
        made.add_handler("U", other)
        broker.append(b"first")
        await handler.wait(1)
        made.unsubscribe("T")
        broker.append(b"second")
        await until(lambda: not any(queue.topic == "T" for queue in made.assignment()))
        assert (handler.bodies, other.bodies, broker.returned) == ([b"first"], [], [])
        made.add_handler("T", other)
        assert await other.wait(1) == [b"second"]
    assert broker.committed["T", 0] == 2


async def test_a_topic_may_change_its_handler_at_once(transport: FakeTransport) -> None:
    broker, handler, other = FakeQueues(transport, queues=1), Collector(), Collector()
    async with consumer(handler) as made:
        broker.append(b"first")
        await handler.wait(1)
        made.unsubscribe("T")
        made.add_handler("T", other)
        broker.append(b"second")
        assert await other.wait(1)
    assert handler.bodies == [b"first"]
    assert other.bodies[-1] == b"second"


async def test_stop_leaves_no_task_behind(transport: FakeTransport) -> None:
    broker, handler = FakeQueues(transport), Collector()
    broker.append(b"x")
    async with consumer(handler):
        await handler.wait(1)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
