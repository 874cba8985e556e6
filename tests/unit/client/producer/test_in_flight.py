from __future__ import annotations

import asyncio

import pytest

from sprocketmq.client.producer.in_flight import InFlight


async def test_who_finds_no_place_waits_in_line() -> None:
    in_flight = InFlight(1)
    await in_flight.take()
    order: list[int] = []

    async def wait(number: int) -> None:
        await in_flight.take()
        order.append(number)

    waiting = [asyncio.ensure_future(wait(number)) for number in range(3)]
    await asyncio.sleep(0)
    assert (order, in_flight.free) == ([], 0)
    for _ in waiting:
        in_flight.give_back()
        assert in_flight.free == 0
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2]
    in_flight.give_back()
    assert in_flight.free == 1


@pytest.mark.parametrize("given_first", [True, False])
async def test_a_place_is_not_lost_with_who_waits_for_it(given_first: bool) -> None:
    in_flight = InFlight(1)
    await in_flight.take()
    gone = asyncio.ensure_future(in_flight.take())
    await asyncio.sleep(0)
    if given_first:
        in_flight.give_back()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    if not given_first:
        in_flight.give_back()
    assert in_flight.free == 1
