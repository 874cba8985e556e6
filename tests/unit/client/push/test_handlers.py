from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import pytest
from tests.unit.client.fakes import stored

from sprocketmq.client.push.handlers import ConsumeResult, Handler, Retry
from sprocketmq.client.received import ReceivedMessage, split_records

MESSAGES = split_records(stored(b"a", 0) + stored(b"b", 1), "b")


@pytest.fixture
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.mark.parametrize(
    ("verdict", "reason", "level"),
    [
        (None, "success", 0),
        (True, "success", 0),
        (ConsumeResult.SUCCESS, "success", 0),
        ("what", "success", 0),
        (False, "retry", 0),
        (ConsumeResult.RETRY, "retry", 0),
        (Retry(4), "retry", 4),
    ],
)
async def test_verdicts(executor: Executor, verdict: Any, reason: str, level: int) -> None:
    async def handle(_message: object) -> Any:
        return verdict

    for function in (handle, lambda _message: verdict):
        outcome = await Handler(function).run(MESSAGES[:1], executor, 60)
        assert (outcome.reason, outcome.level) == (reason, level)


async def test_what_is_raised(executor: Executor) -> None:
    def fail(_message: object) -> None:
        raise ValueError("no")

    def put_off(_message: object) -> None:
        raise Retry(7)

    assert (await Handler(fail).run(MESSAGES[:1], executor, 60)).reason == "exception"
    assert (await Handler(put_off).run(MESSAGES[:1], executor, 60)).level == 7


async def test_timeout(executor: Executor) -> None:
    async def forever(_message: object) -> None:
        await asyncio.Event().wait()

    outcome = await Handler(forever).run(MESSAGES[:1], executor, 0.01)
    assert (outcome.reason, outcome.level) == ("timeout", 3)


async def test_a_timeout_inside_the_handler_is_not_the_handlers_time_limit(executor: Executor) -> None:
    async def ask_somebody(_message: object) -> None:
        raise TimeoutError("no answer from the shop")

    outcome = await Handler(ask_somebody).run(MESSAGES[:1], executor, 60)
    assert (outcome.reason, outcome.level) == ("exception", 0)


async def test_cancellation_is_not_an_outcome(executor: Executor) -> None:
    async def forever(_message: object) -> None:
        await asyncio.Event().wait()

    task = asyncio.ensure_future(Handler(forever).run(MESSAGES[:1], executor, 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancelled_task_that_the_handler_waits_for_is_an_error(executor: Executor) -> None:
    """It is not our own task that is cancelled: a worker that took it for that would end."""

    async def handle(_message: ReceivedMessage) -> None:
        waited = asyncio.ensure_future(asyncio.sleep(3600))
        asyncio.get_running_loop().call_soon(waited.cancel)
        await waited

    outcome = await Handler(handle).run(MESSAGES, executor, 60)
    assert (outcome.reason, type(outcome.error)) == ("exception", asyncio.CancelledError)


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
async def test_a_handler_on_a_thread_does_not_end_the_program(executor: Executor, raised: BaseException) -> None:
    def handle(_message: ReceivedMessage) -> None:
        raise raised

    outcome = await Handler(handle).run(MESSAGES, executor, 60)
    assert (outcome.reason, str(outcome.error)) == ("exception", f"the handler raised {raised!r}")


async def test_batch_and_callable_objects(executor: Executor) -> None:
    seen: list[Any] = []

    class Callable:
        async def __call__(self, given: Any) -> None:
            seen.append(given)

    await Handler(Callable(), 10, takes_batch=True).run(MESSAGES, executor, 60)
    assert seen == [MESSAGES]


async def test_threads_see_the_callers_context(executor: Executor) -> None:
    variable = contextvars.ContextVar("variable", default="outside")
    variable.set("inside")
    seen: list[str] = []
    await Handler(lambda _message: seen.append(variable.get())).run(MESSAGES[:1], executor, 60)
    assert seen == ["inside"]


async def test_a_generator_that_was_returned_has_consumed_nothing(executor: Executor) -> None:
    outcome = await Handler(lambda message: (part for part in [message])).run(MESSAGES[:1], executor, 60)
    assert outcome.reason == "exception"
    assert "whose body has not run" in str(outcome.error)
