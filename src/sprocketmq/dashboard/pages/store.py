"""Stores: what brokers say of theirs, and for those on this machine their files and `verify` as a job."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import Response

from sprocketmq.dashboard.cluster.brokers import BrokerView, brokers, number
from sprocketmq.dashboard.jobs.job import Job
from sprocketmq.dashboard.jobs.processes import CommandJob
from sprocketmq.dashboard.pages.jobs import jobs_of
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere
from sprocketmq.dashboard.web.visit import ReadOnly, Visit
from sprocketmq.errors import ConfigError

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
        Job(VERIFY, f"verify {store}", ("/store", "Store"), str(store), visit.account),
        CommandJob(["store", "verify", str(store), "--json", "--progress"]),
    )
    visit.changed("store verify", str(store))
    return visit.see(f"/jobs/{job.name}")


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/store", listing),
    ("POST", "/store/{number}/verify", verify),
]
