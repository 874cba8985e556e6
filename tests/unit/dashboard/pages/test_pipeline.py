"""The pipeline's page: runs that others made, their reports, and what may be started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.unit.dashboard.site import HOME, Site, site_of

from sprocketmq.client.options import ClientOptions, Credentials
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.dashboard.app import make_app
from sprocketmq.dashboard.config import ConsoleConfig
from sprocketmq.dashboard.console import Console
from sprocketmq.dashboard.jobs.job import Job, Jobs
from sprocketmq.dashboard.jobs.processes import CommandJob
from sprocketmq.job_records import ENVIRONMENT, recorded
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture
def ran(console_cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A console that finds a report, a run that failed, and a file that is no record."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    report = tmp_path / "made"
    report.mkdir()
    (report / "index.html").write_text("<style>b{}</style><b>figures</b>")
    (report / "topics.parquet").write_bytes(b"PAR1")
    (tmp_path / "secret.txt").write_text("hidden")
    (tmp_path / "broken.json").write_text("{")
    with recorded("report", str(report), "127.0.0.1:9876"):
        pass
    with pytest.raises(ValueError, match="no space"), recorded("archive", "/elsewhere", "/data/broker-a"):
        raise ValueError("no space <left>")
    client, console = site_of(console_cluster, write=True, runs=tmp_path)
    with client:
        yield Site(client, console, console_cluster)


def test_runs_and_their_reports(ran: Site) -> None:
    shown = ran.get("/pipeline")
    assert "no space &lt;left&gt;" in shown
    link = shown.split('href="/pipeline/reports/')[1].split('"')[0]
    answer = ran.client.get(f"/pipeline/reports/{link}")
    assert "<b>figures</b>" in answer.text
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "script-src" not in answer.headers["content-security-policy"]
    run = link.split("/")[0]
    assert ran.client.get(f"/pipeline/reports/{run}/topics.parquet").content == b"PAR1"
    for file in ("secret.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt", "sizes.parquet", "index.html%00"):
        assert ran.client.get(f"/pipeline/reports/{run}/{file}").status_code == 404


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "query"}, "Choose an archive or a report"), ({"kind": "report", "name": "../x"}, "Name: use letters"),
        ({"kind": "report", "name": "x", "source": "/etc"}, "Source: choose one of the listed stores"),
        ({"kind": "report", "name": "x", "topics": "a b!"}, "Topics: the topic"),
        ({"kind": "report", "name": "x", "topics": "not-there"}, "Topics: the cluster has no not-there"),
        ({"kind": "report", "name": "x", "topics": "", "groups": "a!"}, "Groups: the group"),
    ],
)  # fmt: skip
def test_what_cannot_be_started(ran: Site, fields: dict[str, str], said: str) -> None:
    shown = ran.post("/pipeline", 400, **fields)
    assert said in shown.split("<details", 1)[1].split("<form", 1)[0], "above the form, which is open"
    typed = [fields[name] for name in ("name", "topics", "groups") if fields.get(name)]
    assert all(f'value="{escape(value)}"' in shown for value in typed), "what was typed is there"
    assert ran.console.jobs.of("report") == []
    assert ("pipeline", fields.get("name", "")) in ran.changes, "the refusal is on record"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[CommandJob]:
    """What was started."""
    given: list[CommandJob] = []
    start = Jobs.start

    def noted(jobs: Jobs, job: Job, work: CommandJob) -> Job:
        given.append(work)
        return start(jobs, job, work)

    monkeypatch.setattr(Jobs, "start", noted)
    return given


@pytest.fixture
def topics(admin: AdminClient) -> tuple[str, str]:
    admin.topics.create("reported", queues=1)
    admin.topics.create("--reported", queues=1)
    return "reported", "--reported"


def test_a_job_gets_what_the_form_said(
    ran: Site, tmp_path: Path, topics: tuple[str, str], started: list[CommandJob]
) -> None:
    fields = {"kind": "report", "name": "today", "topics": " ".join(topics), "groups": "billing", "source": ""}
    ran.post("/pipeline", **fields)
    (work,) = started
    nameserver = ran.cluster.nameserver
    assert work.arguments == [
        "pipeline", "report", str(tmp_path / "reports" / "today"), "--json", "--nameserver", nameserver,
        "--topic=reported", "--topic=--reported", "--group=billing",
    ]  # fmt: skip
    again = ran.post("/pipeline", 400, **fields)
    assert "still running" in again, "one of a kind"


def test_a_job_asks_with_the_keys_of_who_starts_it(
    console_cluster: EmbeddedCluster, tmp_path: Path, topics: tuple[str, str], started: list[CommandJob]
) -> None:
    """In its environment: others of the machine see its command line."""
    options = ClientOptions.of(console_cluster.nameserver, credentials=Credentials("ada", "of-ada"))
    told = {"SPROCKET_TLS_CA": "ca.pem", "SPROCKET_PROFILE": "staging", "SPROCKET_SECRET_KEY": "of-another"}
    console = Console(ConsoleConfig(options, write=True, runs=tmp_path, environment=told))
    with TestClient(make_app(console), base_url=HOME) as client:
        Site(client, console, console_cluster).post("/pipeline", kind="report", topics=topics[0])
    (work,) = started
    environment = work.environment
    assert "of-ada" not in " ".join(work.arguments) + repr(work)
    assert (environment["SPROCKET_ACCESS_KEY"], environment["SPROCKET_SECRET_KEY"]) == ("ada", "of-ada")
    assert environment[ENVIRONMENT] == str(tmp_path)
    assert (environment["SPROCKET_TLS_CA"], environment["SPROCKET_PROFILE"]) == ("ca.pem", "staging")
    assert "of-another" not in repr(console.config)


def test_no_topic_means_all_that_are_not_the_brokers_own(
    ran: Site, topics: tuple[str, str], started: list[CommandJob]
) -> None:
    ran.post("/pipeline", kind="archive", name="all")
    (work,) = started
    asked = {word.removeprefix("--topic=") for word in work.arguments if word.startswith("--topic=")}
    assert asked >= set(topics)
    assert not [name for name in asked if name.startswith(("%", "SCHEDULE", "RMQ_SYS"))]


def test_an_ended_job_leads_to_its_report(ran: Site, tmp_path: Path) -> None:
    """And not to an older one of the same name."""
    target = str(tmp_path / "made")
    job = Job("report", "report made", target=target)
    ran.console.jobs._jobs[job.name] = job
    job.end("done")
    job.output = b'{"topics": [{}, {}], "took": 3}'
    assert "Open the report" not in ran.get(f"/jobs/{job.name}")
    with recorded("report", target, "127.0.0.1:9876"):
        pass
    shown = ran.get(f"/jobs/{job.name}")
    link = re.search(r'href="(/pipeline/reports/[^"]+)">Open the report', shown)
    assert link is not None
    assert "<b>figures</b>" in ran.client.get(link[1]).text
    assert "2 rows" in shown


def test_jobs_need_a_console_that_may_write(console_cluster: EmbeddedCluster, tmp_path: Path) -> None:
    client, console = site_of(console_cluster, runs=tmp_path)
    with client:
        site = Site(client, console, console_cluster)
        assert "--dashboard-write" in site.get("/pipeline")
        site.post("/pipeline", 403, kind="report", name="x")
