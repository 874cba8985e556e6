"""Where a consumer is, for an operator who asks."""

from __future__ import annotations

import asyncio
import threading

from sprocketmq.client.cluster.stacks import stacks


async def test_threads_and_tasks_by_their_names() -> None:
    begun, done = threading.Event(), threading.Event()

    def rest() -> None:
        begun.set()
        done.wait(60)

    async def wait_long(secret: str) -> None:
        await asyncio.get_running_loop().create_future()
        raise AssertionError(secret)

    thread = threading.Thread(target=rest, name="a handler")
    task = asyncio.create_task(wait_long("a value"), name="a subscription")
    thread.start()
    await asyncio.to_thread(begun.wait, 60)
    text = stacks()
    done.set()
    thread.join()
    task.cancel()
    assert "in rest\n" in text.partition("Thread a handler\n")[2].partition("\n\n")[0]
    assert "in wait_long\n" in text.partition("Task a subscription\n")[2].partition("\n\n")[0]
    assert "a value" not in text, "no values"
