"""One job: how far it is, what came of it, and canceling it."""

from __future__ import annotations

from starlette.responses import Response

from sprocketmq import job_records
from sprocketmq.dashboard.jobs.job import Job
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.job_records import Run


async def jobs_of(visit: Visit, *kinds: str) -> list[Job]:
    """Those that the visitor may see: all, or their own."""
    found = visit.console.jobs.of(*kinds)
    return found if await visit.oversees() else [job for job in found if job.account == visit.account]


async def job(visit: Visit) -> Response:
    found = await _job(visit)
    return visit.render("job.html", job=found, report=_report(visit, found))


async def live(visit: Visit) -> Response:
    found = await _job(visit)

    async def part() -> str:
        return visit.text("job_live.html", job=found, report=_report(visit, found))

    return visit.stream(part)


def _report(visit: Visit, job: Job) -> Run | None:
    """The record of the run whose report the job has made; a report of that name may be older."""
    runs = [] if job.is_running else job_records.last(visit.console.config.runs)
    made = (run for run in runs if run.report is not None and run.target == job.target)
    return next((run for run in made if run.started >= job.started_ms), None)


async def cancel(visit: Visit) -> Response:
    """What it has done by then stays done."""
    await visit.form()
    found = await _job(visit)
    if found.is_running:
        await visit.console.jobs.cancel(found)
        visit.changed("job cancel", found.title)
    return visit.see(f"/jobs/{found.name}")


async def _job(visit: Visit) -> Job:
    found = visit.console.jobs.get(visit.path("job"))
    if found is None or found not in await jobs_of(visit, found.kind):
        raise PageNotThere("There is no such job.")
    return found


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/jobs/{job}", job),
    ("GET", "/live/jobs/{job}", live),
    ("POST", "/jobs/{job}/cancel", cancel),
]
