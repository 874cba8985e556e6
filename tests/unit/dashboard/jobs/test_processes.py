"""Jobs: progress, result, log, failure, and the end of all of them when the console stops."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.remoting.wire import until

from sprocketmq.dashboard.jobs.job import Job, JobRefused, Jobs
from sprocketmq.dashboard.jobs.processes import CommandJob, hear


async def test_a_job_runs_a_command_of_ours_and_keeps_what_it_told() -> None:
    jobs = Jobs()
    job = jobs.start(Job("filter", "Try a filter"), CommandJob(["version"]))
    assert job.is_running
    async with asyncio.timeout(60):
        await jobs.wait(job)
    assert job.state == "done"
    assert b"sprocketmq" in job.output
    assert jobs.get(job.name) is job
    assert jobs.of("filter") == [job]
    assert job.result is None, "no JSON"


async def test_one_that_fails_keeps_its_last_words() -> None:
    jobs = Jobs()
    job = jobs.start(Job("store", "Nothing"), CommandJob(["store", "verify", "/nowhere/at/all"]))
    async with asyncio.timeout(60):
        await jobs.wait(job)
    assert job.state == "failed"
    assert "nowhere" in " ".join(job.log)


async def test_one_of_a_kind_at_a_time_and_none_outlives_the_console() -> None:
    jobs = Jobs()
    serve = CommandJob(["nameserver", "--port", "0"])
    job = jobs.start(Job("serve", "Serve"), serve)
    with pytest.raises(JobRefused):
        jobs.start(Job("serve", "Serve"), serve)
    async with asyncio.timeout(60):
        await jobs.stop()
    assert job.state == "canceled"


async def test_a_process_ends_with_the_job_that_is_canceled() -> None:
    jobs = Jobs()
    job = jobs.start(Job("serve", "Serve"), CommandJob(["nameserver", "--port", "0"]))
    async with asyncio.timeout(60):
        await until(lambda: "nameserver started" in " ".join(job.log))
        await jobs.cancel(job)
    assert job.state == "canceled"
    assert job.ended_ms is not None
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(job.log[-1].rpartition(":")[2]))
    await jobs.cancel(job)
    assert jobs.start(Job("serve", "Serve"), CommandJob(["version"])).is_running, "there is room for the next"
    await jobs.stop()


async def test_a_fault_of_our_own_ends_a_job_as_well() -> None:
    async def work(_job: Job) -> bool:
        raise ZeroDivisionError("by zero")

    jobs = Jobs()
    job = jobs.start(Job("broken", "Broken"), work)
    await jobs.wait(job)
    assert (job.state, list(job.log)) == ("failed", ["by zero"])


def test_progress_is_told_in_lines() -> None:
    job = Job("verify", "Verify")
    for line in ('{"done": 5, "total": 20}', '{"done": 1}', "{not json", "plain"):
        hear(job, line)
    assert job.done == 0.25
    assert list(job.log) == ['{"done": 1}', "{not json", "plain"]
    job.output = json.dumps({"ok": True}).encode()
    assert job.result == {"ok": True}
