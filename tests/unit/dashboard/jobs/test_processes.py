"""Jobs: progress, result, log, failure, and the end of all of them when the console stops."""

from __future__ import annotations

import asyncio
import json

import pytest

from sprocketmq.dashboard.jobs.processes import Job, JobRefused, Jobs


async def test_a_job_runs_a_command_of_ours_and_keeps_what_it_told() -> None:
    jobs = Jobs()
    job = jobs.start("filter", "Try a filter", ["version"])
    assert job.state == "running"
    async with asyncio.timeout(60):
        await jobs.wait(job)
    assert (job.state, job.exit_code) == ("done", 0)
    assert b"sprocketmq" in job.output
    assert jobs.get(job.name) is job
    assert jobs.of("filter") == [job]
    assert job.result is None, "no JSON"


async def test_one_that_fails_keeps_its_last_words() -> None:
    jobs = Jobs()
    job = jobs.start("store", "Nothing", ["store", "verify", "/nowhere/at/all"])
    async with asyncio.timeout(60):
        await jobs.wait(job)
    assert job.state == "failed"
    assert "nowhere" in " ".join(job.log)


async def test_one_of_a_kind_at_a_time_and_none_outlives_the_console() -> None:
    jobs = Jobs()
    job = jobs.start("serve", "Serve", ["nameserver", "--port", "0"])
    with pytest.raises(JobRefused):
        jobs.start("serve", "Serve", ["nameserver", "--port", "0"])
    async with asyncio.timeout(60):
        await jobs.stop()
    assert not job.is_running


def test_progress_is_told_in_lines() -> None:
    job = Job("verify", "Verify", ())
    for line in ('{"done": 5, "total": 20}', '{"done": 1}', "{not json", "plain"):
        job.hear(line)
    assert job.done == 0.25
    assert list(job.log) == ['{"done": 1}', "{not json", "plain"]
    job.output = json.dumps({"ok": True}).encode()
    assert job.result == {"ok": True}
