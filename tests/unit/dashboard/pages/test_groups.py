"""Groups: made, shown, moved, cloned and deleted through pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.unit.dashboard.site import HOME, Site

from sprocketmq import Message
from sprocketmq.client.sync import Producer, PushConsumer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.testing import EmbeddedCluster

FIELDS = {"tries": "5", "retry_queues": "1", "consume": "on", "broadcast": "on", "orderly": ""}


@pytest.fixture(scope="module")
def consumed(admin: AdminClient, producer: Producer) -> str:
    """A group that has consumed four of ten messages in its one queue."""
    admin.topics.create("work", queues=1)
    for number in range(10):
        producer.send(Message("work", b"%d" % number))
    admin.groups.create(SubscriptionGroupConfig(group_name="workers"))
    admin.offsets.reset("workers", "work", 4)
    return "workers"


@pytest.fixture(scope="module")
def online(console_cluster: EmbeddedCluster, producer: Producer, admin: AdminClient) -> Iterator[PushConsumer]:
    admin.topics.create("watched", queues=2)
    consumer = PushConsumer("watchers", console_cluster.nameserver)

    @consumer.subscribe("watched")
    def handle(_message: object) -> None:
        pass

    with consumer:
        producer.send(Message("watched", b"seen"))
        yield consumer


def test_a_group_is_made_changed_and_deleted(site: Site, admin: AdminClient) -> None:
    assert "Group born is on broker-a." in site.post("/new/group", name="born", **FIELDS)
    assert admin.groups.config("born")["broker-a"].retry_max_times == 5
    site.post("/groups/born/change", **(FIELDS | {"tries": "7", "broadcast": ""}))
    config = admin.groups.config("born")["broker-a"]
    assert (config.retry_max_times, config.consume_broadcast_enable) == (7, False)
    assert "has consumed nothing yet" in site.get("/groups/born")
    assert "nothing was deleted" in site.post("/groups/born/delete", 400, name="dead")
    assert "Group born was deleted" in site.post("/groups/born/delete", name="born", offsets="on")
    assert "born" not in admin.groups.names()
    assert "Name: the group is blank." in site.post("/new/group", 400, name="", **FIELDS)


def test_lag_is_shown(site: Site, consumed: str) -> None:
    shown = site.get("/groups/workers")
    assert "<dt>Behind</dt><dd><span>6</span><small>messages" in shown
    assert "workers" in site.get("/groups", q="work")


def test_what_comes_in_is_beside_what_goes_out(site: Site, online: PushConsumer) -> None:
    """Over the topics that it consumes; a group that consumes none has no such figure."""
    figures = site.get("/groups/watchers")
    assert re.search(r"<dt>Comes in</dt><dd><span>[\d.]+/s</span><small>to its topics", figures)
    assert set(site.console.open_view.history.series(("rate", "watchers"))) == {"in", "out"}
    site.post("/new/group", name="idlers", **FIELDS)
    assert "<dt>Comes in</dt><dd><span>–</span><small>" in site.get("/groups/idlers")


def test_a_group_is_moved_with_a_look_before(site: Site, consumed: str, admin: AdminClient) -> None:
    assert "Preview" in site.get("/groups/workers/reset")
    shown = site.get("/groups/workers/reset", topic="work", to="last")
    assert "6 messages will be skipped." in shown
    assert '<td class="n">4</td><td class="n">10</td><td class="n">+6</td>' in shown
    assert admin.offsets.get("workers", "work").popitem()[1] == 4, "a look moves nothing"
    site.post("/groups/workers/reset", topic="work", to="offset", offset="7", when="")
    assert admin.offsets.get("workers", "work").popitem()[1] == 7
    assert "7 messages will be consumed again" in site.get("/groups/workers/reset", topic="work", to="first")
    site.post("/groups/workers/reset", topic="work", to="time", when="2020-01-01T00:00:00", offset="")
    assert admin.offsets.get("workers", "work").popitem()[1] == 0
    site.post("/groups/workers/reset", topic="work", to="last", when="", offset="")
    assert admin.groups.progress("workers").lag == 0, "skipped"
    assert "Time: a date" in site.get("/groups/workers/reset", 400, topic="work", to="time", when="later")
    assert [action for action, _ in site.changes[:3]] == ["group reset"] * 3


def test_a_place_is_cloned(site: Site, consumed: str, admin: AdminClient) -> None:
    admin.offsets.reset("workers", "work", 3)
    site.post("/new/group", name="heirs", **FIELDS)
    assert "heirs is now where workers is" in site.post("/groups/workers/clone", topic="work", target="heirs")
    assert admin.offsets.get("heirs", "work").popitem()[1] == 3
    assert "nothing to clone" in site.post("/groups/born-too-late/clone", 400, topic="work", target="heirs")


def test_members_and_what_each_has(site: Site, online: PushConsumer) -> None:
    shown = site.get("/groups/watchers")
    assert "No consumer of the group" not in shown
    link = shown.split('href="/groups/watchers/members/')[1].split('"')[0]
    inside = site.get(f"/groups/watchers/members/{link}", stacks="1")
    assert "PROP_CONSUME_TYPE" in inside
    assert "Stacks" in inside


def test_a_client_that_names_itself_as_it_likes(site: Site, producer: Producer, admin: AdminClient) -> None:
    """With a slash, which ends no part of the path, and what Java puts into every id, `#`."""
    admin.topics.create("odd-names", queues=1)
    consumer = PushConsumer("odd-namers", site.cluster.nameserver, instance_name="a/b#1?<i>")

    @consumer.subscribe("odd-names")
    def handle(_message: object) -> None:
        pass

    with consumer:
        (link,) = re.findall(r'href="(/groups/odd-namers/members/[^"]+)"', site.get("/groups/odd-namers"))
        shown = site.get(link, stacks="1")
        assert "a/b#1?&lt;i&gt;" in shown
        (back,) = re.findall(r'name="next" value="([^"]+)"', shown)
        assert back == f"{link}?stacks=1", "the choice of colours leads back to it"
        answer = site.client.post("/theme", data={"csrf": site.token(), "next": back, "theme": "dark"})
        assert (answer.status_code, str(answer.url)) == (200, HOME + back)


def test_a_group_that_has_consumed_nothing_has_no_lag(site: Site) -> None:
    """Which is not a lag of zero, and no line in a chart."""
    site.post("/new/group", name="dreamers", **FIELDS)
    site.get("/groups/dreamers")
    assert site.console.open_view.history.series(("lag", "dreamers")) == {}
