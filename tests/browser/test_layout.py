"""Every page of the console on a phone and on a desktop, in light and in dark, under the eyes of axe.

Which pages there are is asked of the application: one that is new and not looked at here fails. Pages that a cluster
with accounts has are in test_access.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect
from starlette.routing import Route
from tests.browser.chromium import Tab, console, tab
from tests.peers.servers import Cluster

from sprocketmq import Message
from sprocketmq.client.options import ClientOptions
from sprocketmq.client.sync import Producer, PushConsumer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.dashboard.app import make_app
from sprocketmq.dashboard.config import ConsoleConfig
from sprocketmq.dashboard.console import Console
from sprocketmq.spark.pipeline.page import page

expect.set_options(timeout=60_000)

PAGES = [
    "/", "/brokers/{broker}/0", "/topics", "/topics?kind=system", "/topics?by=messages", "/topics/{topic}",
    "/topics/{topic}/messages", "/topics/{topic}/send", "/topics/{topic}/change", "/topics/{topic}/delete",
    "/messages/{topic}/{broker}/0/0", "/messages/{topic}/{broker}/0/0?as=hex", "/new/topic", "/new/group", "/groups",
    "/groups/{group}", "/groups/{group}/members/{client}", "/groups/{group}/members/{client}?stacks=1",
    "/groups/{group}/reset?topic={topic}&to=first", "/groups/{group}/clone", "/groups/{group}/change",
    "/groups/{group}/delete", "/letters", "/letters/{group}", "/waiting", "/store", "/jobs/{job}", "/pipeline",
    "/access", "/access/users/delete?name=ada", "/access/policies/delete?subject=User:ada&resource=Topic:*", "/sign-in",
]  # fmt: skip
#: Parts of pages, files, what programs ask for, and a way to another page. A report is looked at as a file: as it is
#: served it may run no script, axe's neither.
NO_PAGES = re.compile(r"/live/|/assets/|/favicon.ico|/health$|/ready$|/find$|/raw$|/export$|/pipeline/reports/")
#: As long as names may become in a cluster of several teams.
TOPIC = "console-shown-" + "with-a-name-that-is-long-enough-to-break-a-narrow-page-" + "x" * 40


@pytest.fixture(scope="module")
def visitor(browser: Browser, where: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    options = ("--store", where.broker.store, "--runs", tmp_path_factory.mktemp("runs"))
    with console(where.address, *options) as home, tab(browser, home) as opened:
        yield opened


@pytest.fixture(scope="module")
def names(where: Cluster, visitor: Tab) -> Iterator[dict[str, str]]:
    """A topic with a message, a group with a member that has consumed it, and a job that has ended."""
    seen, group = threading.Event(), "console-showing"
    consumer = PushConsumer(group, where.address)

    @consumer.subscribe(TOPIC)
    def handle(_message: object) -> None:
        seen.set()

    with AdminClient(where.address) as admin, Producer("console-layout", where.address) as producer:
        admin.topics.create(TOPIC, queues=1)
        sent = producer.send(Message(TOPIC, b'{"id": [1, 2]}', keys=["a" * 200], properties={"region": "eu" * 200}))
        with consumer:
            assert seen.wait(60)
            (member,) = admin.groups.connection(group).connection_set
            client = quote(member.client_id, safe="")
            yield {
                "topic": TOPIC, "group": group, "broker": sent.queue.broker_name, "client": client,
                "job": _verified(visitor),
            }  # fmt: skip


def _verified(visitor: Tab) -> str:
    visitor.open("/store")
    visitor.press("Verify")
    expect(visitor.page.locator("main [role=status]").first).to_have_text(re.compile("done|failed"))
    return visitor.page.url.rpartition("/")[2]


def test_every_page_is_among_them() -> None:
    app = make_app(Console(ConsoleConfig(ClientOptions.of("127.0.0.1:9876"), runs=Path("/nowhere"))))
    routes = [route for route in app.routes if isinstance(route, Route) and "GET" in (route.methods or ())]
    looked_at = [re.sub(r"\{\w+\}", "x", path.partition("?")[0]) for path in PAGES]
    for route in routes:
        assert NO_PAGES.search(route.path) or any(map(route.path_regex.match, looked_at)), route.path


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_and_is_read_aloud(visitor: Tab, where: Cluster, names: dict[str, str], path: str) -> None:
    """axe looks at ours alone: the pages are the same."""
    visitor.open(path.format(**names))
    assert visitor.layout_faults(axe=where.kind == "sprocket") == []


def test_a_page_that_is_not_there(visitor: Tab) -> None:
    visitor.page.goto(f"{visitor.home}/topics/{'no-such-topic' * 8}")
    assert visitor.refusals() == ["404"]
    assert visitor.layout_faults() == []


def test_a_form_that_is_refused(visitor: Tab) -> None:
    visitor.open("/new/topic")
    visitor.fill(name="refused", write_queues="many")
    visitor.press("Create")
    assert visitor.refusals() == ["400"]
    expect(visitor.page.locator("main [role=alert]")).to_contain_text("Write queues")
    assert visitor.layout_faults() == []


def test_a_report_of_the_pipeline(browser: Browser, tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    times = {"first": moment, "last": moment}
    tables: dict[str, list[dict[str, Any]]] = {
        "topics": [{"topic": TOPIC, "messages": 1234, "bytes": 99_000, "largest": 900, **times, "queues": 4}],
        "throughput": [{"second": at, "topic": TOPIC, "messages": 9, "bytes": 9, "perSecond": 9.0} for at in (1, 2)],
        "sizes": [{"upTo": 512, "messages": 1234}],
        "latency": [{"topic": TOPIC, "messages": 1234, "p50": 1, "p95": 2, "p99": 3, "most": 4}],
        "hot_keys": [{"topic": TOPIC, "key": "k" * 200, "messages": 7}],
        "failures": [{"kind": "dead letter", "group": "billing", "origin": TOPIC, "messages": 1}],
        "lag": [{"group": "billing", "topic": TOPIC, "committed": 1, "end": 8, "lag": 7}],
        "consumption": [{"group": "billing", "messages": 9, "failed": 1, "waitedP50": 1, "waitedP99": 2}],
    }
    (tmp_path / "index.html").write_text(page("Shop", tables, "cluster of 127.0.0.1:9876"), "utf-8")
    with tab(browser, tmp_path.as_uri()) as visitor:
        visitor.page.goto(f"{visitor.home}/index.html")
        assert visitor.layout_faults() == []
