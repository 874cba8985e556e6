"""The pipeline: the last runs of the Spark jobs with their reports, and starting an archive or a report.

Jobs run on this machine, where no broker can say who may start one: they need `--dashboard-write`. What they write lies
in the console's folder, so that a form cannot name any other place.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import FileResponse, Response

from sprocketmq import job_records
from sprocketmq.dashboard.cluster import topics
from sprocketmq.dashboard.jobs.job import Job, JobRefused
from sprocketmq.dashboard.jobs.processes import CommandJob
from sprocketmq.dashboard.pages.jobs import jobs_of
from sprocketmq.dashboard.web.forms import BadForm, WebForm
from sprocketmq.dashboard.web.page_guard import Handler, PageNotThere
from sprocketmq.dashboard.web.safe_headers import REPORT_POLICY
from sprocketmq.dashboard.web.visit import ReadOnly, Visit
from sprocketmq.job_records import Run
from sprocketmq.protocol.names import group_fault, topic_fault

KINDS = ("archive", "report")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FILE = re.compile(r"index\.html|[a-z_]{1,40}\.parquet")


async def listing(visit: Visit) -> Response:
    return await _page(visit, WebForm({}))


async def _page(visit: Visit, form: WebForm, wrong: str = "") -> Response:
    """What is wrong with a form is said above it, with all that was typed."""
    config = visit.console.config
    return visit.render(
        "pipeline.html", 400 if wrong else 200, runs=await _runs(visit), folder=_folder(visit),
        jobs=await jobs_of(visit, *KINDS), stores=await _stores(visit), may_run=config.write,
        has_spark=find_spec("pyspark") is not None, form=form, wrong=wrong,
    )  # fmt: skip


async def _runs(visit: Visit) -> list[Run]:
    """Those that the visitor may see: all, or those of their own jobs. A report tells of every topic that it read."""
    found = job_records.last(visit.console.config.runs)
    if await visit.oversees():
        return found
    targets = {job.target for job in await jobs_of(visit, *KINDS)}
    return [run for run in found if run.target in targets]


async def _stores(visit: Visit) -> list[str]:
    """Stores that a job may read; their files ask nobody for a right, so they are not for everyone."""
    return [str(store) for store in visit.console.config.stores] if await visit.oversees() else []


def _folder(visit: Visit) -> Path:
    return visit.console.config.runs or job_records.folder()


async def start(visit: Visit) -> Response:
    form = await visit.form()
    if not visit.console.config.write:
        raise ReadOnly
    kind = form.text("kind")
    try:
        job = await _started(visit, form, kind)
    except (BadForm, JobRefused) as error:
        visit.refused("pipeline", form.text("name"), error)
        return await _page(visit, form, str(error))
    visit.changed(f"pipeline {kind}", job.target)
    return visit.see(f"/jobs/{job.name}")


async def _started(visit: Visit, form: WebForm, kind: str) -> Job:
    name = form.text("name") or time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    if kind not in KINDS:
        raise BadForm("Choose an archive or a report.")
    if _NAME.fullmatch(name) is None:
        raise BadForm("Name: use letters, digits, _ and - only.")
    groups = _names(form, "groups", "Groups", group_fault) if kind == "report" else []
    target = str(_folder(visit).absolute() / f"{kind}s" / name)
    arguments = ["pipeline", kind, target, "--json", *await _source(visit, form)]
    arguments += [f"--group={group}" for group in groups]
    job = Job(kind, f"{kind} {name}", ("/pipeline", "Pipeline"), target, visit.account)
    return visit.console.jobs.start(job, CommandJob(arguments, _environment(visit)))


def _environment(visit: Visit) -> dict[str, str]:
    """Where a job is noted, how it reaches the cluster, and with whose keys: the visitor's, or the console's own."""
    options, found = visit.view.options, dict(visit.console.config.environment)
    found |= {job_records.ENVIRONMENT: str(_folder(visit).absolute()), "SPROCKET_NAMESPACE": options.namespace}
    if options.credentials is not None:
        found["SPROCKET_ACCESS_KEY"] = options.credentials.access_key
        found["SPROCKET_SECRET_KEY"] = options.credentials.secret_key
        found["SPROCKET_TOKEN"] = options.credentials.token or ""
    return found


async def _source(visit: Visit, form: WebForm) -> list[str]:
    config, chosen = visit.console.config, form.text("source")
    wanted = _names(form, "topics", "Topics", topic_fault)
    if not chosen:
        where = ["--nameserver", ";".join(config.options.nameservers)]
        return [*where, *_options(await _of_the_cluster(visit, wanted))]
    if chosen not in await _stores(visit):
        raise BadForm("Source: choose one of the listed stores.")
    return ["--store", chosen, *_options(wanted)]


async def _of_the_cluster(visit: Visit, wanted: list[str]) -> list[str]:
    """A job reads a cluster by topics. None wanted means all that are not the brokers' own."""
    there = await topics.names(visit.view)
    found = wanted or there["yours"]
    if not found:
        raise BadForm("Topics: the cluster has none yet.")
    known = {name for names in there.values() for name in names}
    if missing := [name for name in found if name not in known]:
        raise BadForm(f"Topics: the cluster has no {missing[0]}.")
    return found


def _options(names: list[str]) -> list[str]:
    return [f"--topic={name}" for name in names]


def _names(form: WebForm, field: str, label: str, fault_of: Callable[[str], str | None]) -> list[str]:
    names = form.text(field).split()
    for name in names:
        if (fault := fault_of(name)) is not None:
            raise BadForm(f"{label}: {fault}.")
    return names


async def report(visit: Visit) -> Response:
    """A file of a report: the page itself, which may do nothing but be read, or a table beside it."""
    name, file = visit.path("run"), visit.path("file")
    found = next((run for run in await _runs(visit) if run.name == name), None)
    if found is None or found.report is None or _FILE.fullmatch(file) is None:
        raise PageNotThere("There is no such report.")
    path = found.report.parent / file
    if not path.is_file():
        raise PageNotThere("The report has no such table.")
    return FileResponse(path, headers={"Content-Security-Policy": REPORT_POLICY})


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/pipeline", listing),
    ("POST", "/pipeline", start),
    ("GET", "/pipeline/reports/{run}/{file}", report),
]
