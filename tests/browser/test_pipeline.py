"""A pipeline job from the console's form to its report, in a real browser: what is wrong is told in the form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.chromium import Tab, console, tab
from tests.certificates import Certificates
from tests.peers.fixtures import Unique
from tests.peers.servers import Cluster
from tests.spark.settings import QUICK

from sprocketmq import Message
from sprocketmq.client.options import Credentials
from sprocketmq.client.sync import Producer
from sprocketmq.testing import EmbeddedCluster

#: Spark starts in ten seconds, and on a busy machine in a minute; only a hang takes longer.
_SPARK_MS = 400_000
pytestmark = pytest.mark.spark


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where jobs write. Those that the console starts find settings here with which Spark starts sooner."""
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in QUICK.items()))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "runs"


@pytest.fixture
def topic(sprocket_rocketmq: Cluster, unique: Unique) -> str:
    """With three messages."""
    name = unique("console-reported")
    with Producer("console-reports", sprocket_rocketmq.address) as producer:
        for number in range(3):
            producer.send(Message(name, b"%d" % number, keys=[f"k{number}"]))
    return name


@contextmanager
def visiting(browser: Browser, cluster: Cluster, runs: Path) -> Iterator[Tab]:
    with console(cluster.address, "--runs", runs) as home, tab(browser, home) as opened:
        yield opened


def is_told(visitor: Tab, said: str, **fields: str) -> None:
    """In the form, with what was typed still in it."""
    visitor.fill(**fields)
    visitor.press("Start")
    expect(visitor.page.locator("main details[open] [role=alert]")).to_contain_text(said)
    assert visitor.refusals() == ["400"]
    for name, value in fields.items():
        expect(visitor.page.locator(f"main [name='{name}']")).to_have_value(value)


def ended(page: Page) -> Locator:
    """The state of the job that the page shows, once it has one that stays."""
    page.wait_for_url(re.compile("/jobs/"))
    state = page.locator("main [role=status]").first
    expect(state).to_have_text(re.compile("done|failed"), timeout=_SPARK_MS)
    return state


def test_a_report_from_its_form_to_its_page(
    browser: Browser, sprocket_rocketmq: Cluster, runs: Path, topic: str
) -> None:
    with visiting(browser, sprocket_rocketmq, runs) as visitor:
        page = visitor.open("/pipeline")
        is_told(visitor, "Topics: the cluster has no not-there", topics="not-there")
        is_told(visitor, "Groups: the group 'a!b'", topics=topic, groups="a!b")
        assert visitor.layout_faults() == []
        assert not list(runs.rglob("*.json")), "nothing has run"
        visitor.fill(topics=topic, groups="", name="today")
        visitor.press("Start")
        page.wait_for_url(re.compile("/jobs/"))
        expect(page.locator("main [role=status]").first).to_have_text("running")
        expect(page.locator("main progress")).to_be_visible()
        assert visitor.layout_faults() == []
        expect(ended(page), visitor.text()).to_have_text("done")
        expect(page.locator("main tr", has_text="topics")).to_contain_text("1 row")
        assert page.locator("main progress").count() == 0
        visitor.press("Open the report")
        page.wait_for_url(re.compile("/pipeline/reports/.*/index.html"))
        assert topic in page.inner_text("body")
        visitor.open("/pipeline")
        expect(page.locator("main tr", has_text="report")).to_contain_text("done")


def test_a_job_that_fails_tells_why(
    browser: Browser, sprocket_rocketmq: Cluster, runs: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine without Java: the page keeps what the command said."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with visiting(browser, sprocket_rocketmq, runs) as visitor:
        page = visitor.open("/pipeline")
        page.select_option("main [name=kind]", "archive")
        visitor.fill(topics=topic, name="week")
        visitor.press("Start")
        expect(ended(page)).to_have_text("failed")
        expect(page.locator("main pre")).to_contain_text("sprocket: Spark needs Java")
        visitor.open("/pipeline")
        expect(page.locator("main tr", has_text="archive")).to_contain_text("Spark needs Java")


def test_a_report_of_a_cluster_behind_tls_and_accounts(
    browser: Browser, certificates: Certificates, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job gets the console's TLS and the keys of who signed in; nothing of it is on a command line."""
    monkeypatch.setenv("SPROCKET_CONFIG", "none")
    secret = "r00t-secret-12"
    with EmbeddedCluster(conf=_secured(certificates, secret)) as cluster:
        keys, context = Credentials("root", secret), certificates.caller()
        with Producer("console-secured", cluster.nameserver, credentials=keys, ssl=context) as producer:
            producer.send(Message("secured", b"behind a lock"))
        options = ("--runs", runs, "--tls-ca", certificates.ca)
        with console(cluster.nameserver, *options) as home, tab(browser, home) as visitor:
            visitor.open("/pipeline")
            visitor.fill(access_key="root", secret_key=secret)
            visitor.press("Sign in")
            visitor.page.wait_for_url(re.compile("/pipeline$"))
            visitor.fill(topics="secured", name="locked")
            visitor.press("Start")
            visitor.page.wait_for_url(re.compile("/jobs/"))
            expect(ended(visitor.page), visitor.text()).to_have_text("done")
            expect(visitor.page.locator("main tr", has_text="topics")).to_contain_text("1 row")


def _secured(certificates: Certificates, secret: str) -> dict[str, str]:
    inner = {"tls.enable": "true", "tls.client.trustCertPath": str(certificates.ca)}
    accounts = {
        "authenticationEnabled": "true", "authorizationEnabled": "true",
        "initAuthenticationUser": f'{{"username":"root","password":"{secret}"}}',
        "innerClientAuthenticationCredentials": f'{{"accessKey":"root","secretKey":"{secret}"}}',
    }  # fmt: skip
    return {**certificates.server_keys(tls_server_mode="enforcing"), **inner, **accounts}
