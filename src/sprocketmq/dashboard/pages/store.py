"""Stores: what brokers say of theirs, and for those on this machine their files and `verify` as a job."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import Response

from sprocketmq import job_records
from sprocketmq.dashboard.cluster.brokers import BrokerView, brokers, number
from sprocketmq.dashboard.jobs.processes import Job
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere
from sprocketmq.dashboard.web.visit import ReadOnly, Visit
from sprocketmq.errors import ConfigError
from sprocketmq.job_records import Run

VERIFY = "verify"


@dataclass(frozen=True, slots=True)
class Folder:
    """One kind of files of a store."""

    name: str
    files: int
    size: int


async def listing(visit: Visit) -> Response:
    found = await brokers(visit.view)
    stores = visit.console.config.stores if await visit.oversees() else ()
    folders = await asyncio.to_thread(lambda: {path: files_of(path) for path in stores})
    return visit.render(
        "store.html", rows=[(broker, figures(broker)) for broker in found.all if not broker.status.error],
        stores=list(enumerate(folders.items())), jobs=await jobs_of(visit, VERIFY), may_run=visit.console.config.write,
    )  # fmt: skip


async def jobs_of(visit: Visit, *kinds: str) -> list[Job]:
    """Those that the visitor may see: all, or their own."""
    found = visit.console.jobs.of(*kinds)
    return found if await visit.oversees() else [job for job in found if job.account == visit.account]


def figures(broker: BrokerView) -> dict[str, Any]:
    """From runtime info, which has RocketMQ's names; what a broker does not tell is None."""
    told = broker.status.runtime
    begin, end = number(told.get("commitLogMinOffset")), number(told.get("commitLogMaxOffset"))
    behind, earliest = number(told.get("dispatchBehindBytes")), number(told.get("earliestMessageTimeStamp"))
    return {
        "size": None if begin is None or end is None else int(end - begin),
        "end": None if end is None else int(end),
        "dispatch": None if behind is None else int(behind),
        "flush": told.get("remainHowManyDataToFlush"),
        "lock_ms": told.get("pageCacheLockTimeMills"),
        "pressure": told.get("sendThreadPoolQueueHeadWaitTimeMills"),
        "slowest": told.get("putMessageEntireTimeMax"),
        "earliest": None if earliest is None else int(earliest),
        "spread": told.get("putMessageDistributeTime"),
    }


def files_of(store: Path) -> list[Folder]:
    found = []
    for name in ("commitlog", "consumequeue", "consumequeue_ext", "index", "timerlog", "config", "quarantine"):
        files = [path for path in (store / name).rglob("*") if path.is_file()]
        if files:
            found.append(Folder(name, len(files), sum(path.stat().st_blocks * 512 for path in files)))
    return found


async def verify(visit: Visit) -> Response:
    await visit.form()
    if not visit.console.config.write:
        raise ReadOnly
    if not await visit.oversees():
        raise ConfigError("only users who may list the cluster's users can verify stores of this machine")
    stores, number_ = visit.console.config.stores, visit.path("number")
    if not number_.isdecimal() or int(number_[:6]) >= len(stores):
        raise PageNotThere("There is no such store.")
    store = stores[int(number_)]
    job = visit.console.jobs.start(
        VERIFY, f"verify {store}", ["store", "verify", str(store), "--json", "--progress"], str(store)
    )
    job.account = visit.account
    visit.changed("store verify", str(store))
    return visit.see(f"/jobs/{job.name}")


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


async def _job(visit: Visit) -> Job:
    found = visit.console.jobs.get(visit.path("job"))
    if found is None or found not in await jobs_of(visit, found.kind):
        raise PageNotThere("There is no such job.")
    return found


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/store", listing),
    ("POST", "/store/{number}/verify", verify),
    ("GET", "/jobs/{job}", job),
    ("GET", "/live/jobs/{job}", live),
]
