"""One logical queue over two brokers: five messages with broker-a, then it moves to queue 1 of broker-b at 500."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.static_topic.conftest import Two
from tests.unit.broker.static_topic.support import A, B, detail, item, put
from tests.unit.broker.support import START_MS, Caller, FakeClock, bodies, fields

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import ConnectionLost
from sprocketmq.protocol.command import Command

OLD, NEW = item(0, A, 0), item(1, B, 500, queue_id=1)
UNDECIDED = item(1, B, -1, queue_id=1)
SUSPEND, COMMIT, SUBSCRIPTION = 2, 1, 4


@pytest_asyncio.fixture
async def moved(two: Two, clock: FakeClock) -> Two:
    await put(two.a, detail(A, {0: (OLD,)}))
    for number in range(5):
        await two.a.send("S", b"%d" % number)
        clock.now += 1000
    await put(two.a, detail(A, {0: (OLD, NEW)}, 2))
    await put(two.b, detail(B, {0: (OLD, NEW)}, 2))
    for number in range(5, 8):
        await two.b.send("S", b"%d" % number)
        clock.now += 1000
    return two


async def offset(caller: Caller, code: int, **more: object) -> tuple[int, str | None]:
    answer = await caller.call(code, {"topic": "S", "queueId": 0, **more})
    return answer.code, fields(answer).get("offset")


def place(answer: Command) -> tuple[int, str, str]:
    return answer.code, fields(answer)["queueId"], fields(answer)["queueOffset"]


async def test_sends_are_told_their_place_in_the_logical_queue(two: Two) -> None:
    await put(two.b, detail(B, {0: (OLD, NEW)}))
    assert place(await two.b.send("S")) == (0, "0", "500")
    assert place(await two.b.send("S", serialize_type=1)) == (0, "0", "501")
    assert place(await two.b.send("S", queue_id=-1)) == (0, "0", "502")
    assert two.broker_b.store.max_offset("S", 1) == 3


async def test_half_a_transaction_keeps_its_offset(two: Two) -> None:
    await put(two.b, detail(B, {0: (OLD, NEW)}))
    half = await two.b.send("S", sys_flag=4, TRAN_MSG="true", PGROUP="PG")
    assert place(half) == (0, "0", "0")


async def test_sends_keep_their_order(two: Two) -> None:
    await put(two.b, detail(B, {0: (OLD, NEW)}))
    sends = [two.b.send("S", b"%d" % number) for number in range(50)]
    assert [place(answer)[2] for answer in await asyncio.gather(*sends)] == [str(500 + n) for n in range(50)]


async def test_a_new_leader_takes_messages_before_its_offset_is_decided(two: Two) -> None:
    await put(two.b, detail(B, {0: (OLD, UNDECIDED)}))
    assert place(await two.b.send("S")) == (0, "0", "-1")
    await put(two.b, detail(B, {0: (OLD, NEW)}))
    assert await offset(two.b, RequestCode.GET_MAX_OFFSET) == (0, "501")


@pytest.mark.parametrize("queue_id", [0, 1])
async def test_only_the_leader_answers(moved: Two, queue_id: int) -> None:
    code = ResponseCode.NOT_LEADER_FOR_QUEUE
    assert (await moved.a.send("S", queue_id=queue_id)).code == code
    assert (await moved.a.pull("S", queue_id=queue_id)).code == code
    assert (await offset(moved.a, RequestCode.GET_MAX_OFFSET, queueId=queue_id))[0] == code


async def test_everything_is_read_over_the_move(moved: Two) -> None:
    read: list[bytes] = []
    at = 0
    for _ in range(6):
        answer = await moved.b.pull("S", at, count=2)
        told = fields(answer)
        read += bodies(answer)
        if answer.code == ResponseCode.SUCCESS:
            assert int(told["offsetDelta"]) == (0 if at < 500 else 500)
        at = int(told["nextBeginOffset"])
    assert (read, at) == ([b"%d" % number for number in range(8)], 503)


async def test_the_end_of_an_item_leads_to_the_next(moved: Two) -> None:
    answer = await moved.b.pull("S", 5)
    assert answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert fields(answer)["nextBeginOffset"] == "500"
    answer = await moved.b.pull("S", 77)
    assert (answer.code, fields(answer)["nextBeginOffset"]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "500")


async def test_the_end_of_an_item_is_the_end_while_the_next_is_undecided(two: Two) -> None:
    await put(two.a, detail(A, {0: (OLD,)}))
    await two.a.send("S", b"0")
    await put(two.b, detail(B, {0: (OLD, UNDECIDED)}, 2))
    await two.b.send("S", b"1")
    assert bodies(await two.b.pull("S", 0)) == [b"0"]
    answer = await two.b.pull("S", 1, sys_flag=SUSPEND | SUBSCRIPTION, suspend_ms=20)
    assert (answer.code, fields(answer)["nextBeginOffset"]) == (ResponseCode.PULL_NOT_FOUND, "1")


async def test_a_pull_at_the_end_waits_for_a_message(moved: Two) -> None:
    waiting = asyncio.ensure_future(moved.b.pull("S", 503, sys_flag=SUSPEND | SUBSCRIPTION))
    while not len(moved.broker_b.pulls.long_polls):  # noqa: ASYNC110 - the broker tells nobody of it
        await asyncio.sleep(0)
    await moved.b.send("S", b"late")
    answer = await waiting
    assert (bodies(answer), fields(answer)["nextBeginOffset"]) == ([b"late"], "504")


async def test_a_pull_whose_client_left_ends(moved: Two) -> None:
    running, leaver = moved.broker_b.logical, Caller(moved.broker_b)
    assert running is not None
    waiting = asyncio.ensure_future(leaver.pull("S", 503, sys_flag=SUSPEND | SUBSCRIPTION, suspend_ms=30_000))
    while not len(moved.broker_b.pulls.long_polls):  # noqa: ASYNC110 - the broker tells nobody of it
        await asyncio.sleep(0)
    (task,) = running._running
    await leaver.client.close(grace=0)
    with pytest.raises(ConnectionLost):
        await waiting
    await asyncio.wait_for(task, 60)
    assert not len(moved.broker_b.pulls.long_polls)


async def test_a_mapping_closes_the_way_of_pulls_that_were_admitted_before(two: Two) -> None:
    for number in range(2):
        await two.b.send("S", b"%d" % number, queue_id=1)
    for _ in range(2):  # the second need not be asked again what the first was asked
        assert bodies(await two.b.pull("S", 1, queue_id=1)) == [b"1"]
    two.broker_b.mappings.put(detail(B, {1: (item(0, B, 500, queue_id=1),)}))
    answer = await two.b.pull("S", 1, queue_id=1)
    assert (answer.code, bodies(answer)) == (ResponseCode.PULL_OFFSET_MOVED, [])
    answer = await two.b.pull("S", 501, queue_id=1)
    assert (answer.code, bodies(answer), fields(answer)["nextBeginOffset"]) == (0, [b"1"], "502")


async def test_who_waits_hears_of_a_move(moved: Two) -> None:
    waiting = asyncio.ensure_future(moved.b.pull("S", 503, sys_flag=SUSPEND | SUBSCRIPTION, suspend_ms=30_000))
    while not len(moved.broker_b.pulls.long_polls):  # noqa: ASYNC110 - the broker tells nobody of it
        await asyncio.sleep(0)
    await put(moved.b, detail(B, {0: (OLD, NEW, item(2, A, -1, queue_id=1))}, 3))
    assert (await waiting).code == ResponseCode.PULL_NOT_FOUND
    assert (await moved.b.pull("S", 503)).code == ResponseCode.NOT_LEADER_FOR_QUEUE


async def test_an_offset_behind_the_end_is_corrected(moved: Two) -> None:
    answer = await moved.b.pull("S", 900)
    assert (answer.code, fields(answer)["nextBeginOffset"]) == (ResponseCode.PULL_OFFSET_MOVED, "503")


async def test_no_more_is_read_than_an_item_holds(moved: Two) -> None:
    await put(moved.b, detail(B, {0: (item(0, A, 0, end=3), NEW)}, 3))
    answer = await moved.b.pull("S", 1)
    assert (bodies(answer), fields(answer)["nextBeginOffset"]) == ([b"1", b"2"], "3")
    answer = await moved.b.pull("S", 3)
    assert (bodies(answer), fields(answer)["nextBeginOffset"]) == ([b"5", b"6", b"7"], "503")


async def test_least_and_largest_offsets(moved: Two) -> None:
    assert await offset(moved.b, RequestCode.GET_MAX_OFFSET) == (0, "503")
    assert await offset(moved.b, RequestCode.GET_MIN_OFFSET) == (0, "0")
    first = await moved.b.call(RequestCode.GET_EARLIEST_MSG_STORETIME, {"topic": "S", "queueId": 0})
    assert fields(first) == {"timestamp": str(START_MS)}
    assert await offset(moved.a, RequestCode.GET_MAX_OFFSET, lo=False) == (0, "5")


@pytest.mark.parametrize(("after_ms", "found"), [(0, 0), (2500, 3), (4500, 500), (6500, 502), (99_000, 503)])
async def test_offsets_by_time(moved: Two, after_ms: int, found: int) -> None:
    search = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
    assert await offset(moved.b, search, timestamp=START_MS + after_ms) == (0, str(found))


async def test_a_group_commits_where_the_offset_is_held(moved: Two) -> None:
    for caller in (moved.a, moved.b):
        await caller.heartbeat("G")
    query, update = RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET
    assert await offset(moved.b, query, consumerGroup="G") == (ResponseCode.QUERY_NOT_FOUND, None)
    assert (await offset(moved.b, update, consumerGroup="G", commitOffset=4))[0] == 0
    assert moved.broker_a.offsets.query("G", "S", 0) == 4
    assert await offset(moved.b, query, consumerGroup="G") == (0, "4")
    await moved.b.pull("S", 501, commit=502, sys_flag=COMMIT | SUBSCRIPTION)
    assert moved.broker_b.offsets.query("G", "S", 1) == 2
    assert await offset(moved.b, query, consumerGroup="G") == (0, "502")


async def test_a_queue_that_never_moved_begins_as_a_plain_one(two: Two) -> None:
    await put(two.a, detail(A, {0: (OLD,)}))
    await two.a.send("S")
    assert await offset(two.a, RequestCode.QUERY_CONSUMER_OFFSET, consumerGroup="G") == (0, "0")


async def test_a_holder_that_is_away_is_named(moved: Two) -> None:
    await moved.broker_a.stop()
    answer = await moved.b.pull("S", 0)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert A in (answer.remark or "")


async def test_oneway_sends_are_stored(moved: Two) -> None:
    request = Command(
        RequestCode.SEND_MESSAGE_V2,
        ext_fields={"a": "PG", "b": "S", "c": "TBW102", **dict.fromkeys("defghj", "0"), "n": B},
        body=b"oneway",
    )
    await moved.b.client.oneway(moved.broker_b.address, request)
    assert await offset(moved.b, RequestCode.GET_MAX_OFFSET) == (0, "504")


async def test_an_answer_that_waits_for_the_disk_is_turned_too(start_broker: StartBroker) -> None:
    broker = await start_broker(flushDiskType="SYNC_FLUSH")
    caller = Caller(broker)
    await put(caller, detail(A, {0: (item(1, A, 500),)}))
    assert place(await caller.send("S")) == (0, "0", "500")
    assert bodies(await caller.pull("S", 500)) == [b"body"]
    await caller.client.close(grace=0.1)
