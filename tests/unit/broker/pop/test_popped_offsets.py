"""A broker that was killed knows from its log what it had handed out."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from tests.unit.broker.pop.test_handler import INVISIBLE_MS, ack, infos, pass_time, pop
from tests.unit.broker.support import KEY, Caller, FakeClock, bodies, make_broker

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.names import pop_retry_topic

Kill = Callable[[], Awaitable[Broker]]


@pytest_asyncio.fixture
async def kill(broker: Broker, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Kill]:
    """Starts another broker on what a kill of `broker` at this moment would leave."""
    started: list[Broker] = []

    async def kill() -> Broker:
        for saver in broker._savers:  # a file that is renamed meanwhile cannot be copied
            await saver.saved()
        shutil.copytree(broker.store.layout.root, tmp_path / "killed", ignore=shutil.ignore_patterns("lock"))
        started.append(make_broker(tmp_path / "killed", clock))
        await started[-1].start()
        return started[-1]

    yield kill
    for each in started:
        await each.stop()


async def send(caller: Caller, *numbers: int) -> None:
    for number in numbers:
        assert (await caller.send(body=b"%d" % number)).code == ResponseCode.SUCCESS


@pytest.mark.parametrize("saved", [True, False])
async def test_what_was_acknowledged_comes_never_again_and_the_rest_in_its_time(
    broker: Broker, caller: Caller, clock: FakeClock, kill: Kill, saved: bool
) -> None:
    await send(caller, 0)
    first = infos(await pop(caller))
    if saved:
        broker.offsets.save()
    clock.now += 1000
    await send(caller, 1, 2, 3)
    taken = infos(await pop(caller))
    for info in (*first, taken[1]):
        assert (await ack(caller, info)).code == ResponseCode.SUCCESS
    again = await kill()
    assert again.offsets.queues("G", "T") == {0: 4}
    assert (await pop(Caller(again))).code == ResponseCode.POLLING_TIMEOUT
    pass_time(again, clock, INVISIBLE_MS + 4000)
    assert Counter(bodies(await pop(Caller(again)))) == Counter([b"1", b"3"])


async def test_what_was_given_back_is_not_given_back_again(
    caller: Caller, broker: Broker, clock: FakeClock, kill: Kill
) -> None:
    """The broker was killed before it had saved that; what is popped once more is another matter."""
    await caller.send(body=b"0", UNIQ_KEY=KEY)
    await pop(caller)
    pass_time(broker, clock, INVISIBLE_MS + 4000)
    again = await kill()
    pass_time(again, clock, INVISIBLE_MS + 4000)
    given = again.store.max_offset(pop_retry_topic("G", "T"), 0)
    assert given == 1
    again.offsets.place("G", "T", 0, 0)
    assert len(bodies(await pop(Caller(again)))) == 2
    pass_time(again, clock, INVISIBLE_MS + 4000)
    assert again.store.max_offset(pop_retry_topic("G", "T"), 0) == 3


async def test_an_offset_that_was_set_back_after_the_pop_stays_so(
    broker: Broker, caller: Caller, clock: FakeClock, kill: Kill
) -> None:
    await send(caller, 0, 1)
    await pop(caller)
    clock.now += 1000
    broker.offsets.place("G", "T", 0, 0)
    broker.offsets.save()
    assert (await kill()).offsets.queues("G", "T") == {0: 0}


@pytest.mark.parametrize("sent", [1, 3])
async def test_messages_of_a_new_topic_of_the_same_name_are_not_passed_over(
    caller: Caller, kill: Kill, sent: int
) -> None:
    await send(caller, 0, 1)
    await pop(caller)
    assert (await caller(RequestCode.DELETE_TOPIC_IN_BROKER, topic="T")).code == ResponseCode.SUCCESS
    await send(caller, *range(2, 2 + sent))
    again = await kill()
    assert bodies(await pop(Caller(again))) == [b"%d" % number for number in range(2, 2 + sent)]


async def test_a_damaged_check_point_hides_no_other(broker: Broker, caller: Caller, kill: Kill) -> None:
    await send(caller, 0)
    broker.kinds.revive._write(0, "ck", _Damaged(), broker.clock.now_ms() + 60_000)  # type: ignore[arg-type]
    await pop(caller)
    assert (await kill()).offsets.queues("G", "T") == {0: 1}


class _Damaged:
    topic, group, unique_key = "T", "G", "damaged"

    def encode(self) -> bytes:
        return b'{"so": 0, "n": 1}'
