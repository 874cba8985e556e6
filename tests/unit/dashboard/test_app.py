"""What every page has in common: the policy, the token, read-only consoles, names that break nothing."""

from __future__ import annotations

import re

import pytest
from tests.peers.process import eventually
from tests.unit.dashboard.site import HOME, Site, site_of

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.testing import EmbeddedCluster

PAGES = ["/", "/topics", "/topics?kind=system", "/groups", "/brokers/broker-a/0", "/new/topic", "/new/group"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_well_formed_and_may_load_nothing_from_elsewhere(site: Site, path: str) -> None:
    answer = site.client.get(path)
    assert answer.status_code == 200
    site.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in answer.text.replace(HOME, "").replace("http-equiv", "")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_a_site_with_another_name_is_not_served(site: Site) -> None:
    answer = site.client.get("/", headers={"host": "evil.example"})
    assert answer.status_code == 421
    assert "SprocketMQ" not in answer.text


def test_a_form_without_the_token_changes_nothing(site: Site) -> None:
    site.get("/topics")
    for token in ("", "wrong"):
        answer = site.client.post("/new/topic", data={"csrf": token, "name": "forged", "write_queues": "1"})
        assert answer.status_code == 403
    assert "forged" not in site.get("/topics")


def test_cookies_are_for_us_alone(site: Site) -> None:
    site.client.cookies.clear()
    cookie = site.client.get("/sign-in").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_a_console_that_only_shows(console_cluster: EmbeddedCluster) -> None:
    client, console = site_of(console_cluster)
    with client:
        site = Site(client, console, console_cluster)
        assert "read-only" in site.get("/")
        assert "New topic" not in site.get("/topics")
        assert "read-only" in site.post("/new/topic", 403, name="refused", write_queues="1", read_queues="1")
        assert "refused" not in site.get("/topics")
        assert site.changes == [("/new/topic", "")]


def test_a_page_that_is_not_there(site: Site) -> None:
    assert "There is no page /nowhere." in site.get("/nowhere", 404)
    assert "no route to topic nothing" in site.get("/topics/nothing", 404)
    assert "No broker knows a group nothing" in site.get("/groups/nothing", 404)
    assert "There is no broker broker-z" in site.get("/brokers/broker-z/0", 404)


def test_names_cannot_break_a_page(site: Site) -> None:
    shown = site.get("/topics", q='"><script>alert(1)</script>')
    assert "<script>alert" not in shown
    assert "&lt;script&gt;" in shown
    site.get("/%3Cscript%3E", 404)


def test_assets(site: Site) -> None:
    style = site.client.get("/assets/console.css")
    assert "--accent" in style.text
    assert "immutable" in style.headers["cache-control"]
    assert "EventSource" in site.client.get("/assets/console.js").text
    assert site.client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"
    assert site.client.get("/health").text == "ok\n"


def test_a_cluster_without_access_control_is_shown_to_its_own_machine_only(console_cluster: EmbeddedCluster) -> None:
    client, _ = site_of(console_cluster, host="0.0.0.0")
    with client:
        answer = client.get("/")
        assert answer.status_code == 403
        assert "no access control" in answer.text


def test_a_producer_is_shown_with_its_address(site: Site, admin: AdminClient, producer: Producer) -> None:
    """Brokers tell it as Java prints one, with a slash before it."""
    admin.topics.create("addressed", queues=1)
    producer.send(Message("addressed", b"x"))
    eventually(lambda: "console-tests" in site.get("/brokers/broker-a/0"), "the heartbeat of the producer")
    assert re.search(r"<code>127\.0\.0\.1:\d+</code></td><td>PYTHON", site.get("/brokers/broker-a/0"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"secret": "x" * (9 << 20)}, "maximum size"),
        ({f"f{number}": "x" for number in range(3000)}, "Too many fields"),
        ({"secret": "x" * (16 << 20)}, "may have at most"),
    ],
    ids=["a long field", "many fields", "a long form"],
)
def test_a_form_that_is_too_long_is_the_senders_mistake(
    site: Site, fields: dict[str, str], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told so, and the log of the console is not his to fill."""
    answer = site.client.post("/sign-in", data=fields)
    assert (answer.status_code, said in answer.text) == (400, True)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
