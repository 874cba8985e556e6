"""Groups: made, shown, moved, cloned and deleted through pages."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest
from tests.unit.dashboard.site import HOME, Site

from sprocketmq import Message
from sprocketmq.client.admin.groups import Groups
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
    assert "Group born was created on broker-a." in site.post("/new/group", name="born", **FIELDS)
    assert admin.groups.config("born")["broker-a"].retry_max_times == 5
    site.post("/groups/born/change", **(FIELDS | {"tries": "7", "broadcast": ""}))
    config = admin.groups.config("born")["broker-a"]
    assert (config.retry_max_times, config.consume_broadcast_enable) == (7, False)
    assert "No offset has been committed yet" in site.get("/groups/born")
    assert "nothing was deleted" in site.post("/groups/born/delete", 400, name="dead")
    assert "Group born was deleted" in site.post("/groups/born/delete", name="born", offsets="on")
    assert "born" not in admin.groups.names()
    assert "Name: the group is blank." in site.post("/new/group", 400, name="", **FIELDS)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> dict[str | None, SubscriptionGroupConfig]:
    """What was changed on each broker of a cluster whose two brokers have a group with different settings."""
    configs = {
        "broker-a": SubscriptionGroupConfig(group_name="split", retry_max_times=3, broker_id=7),
        "broker-b": SubscriptionGroupConfig(group_name="split", consume_enable=False, group_sys_flag=1),
    }
    changed: dict[str | None, SubscriptionGroupConfig] = {}

    async def config(_groups: Groups, _group: str) -> dict[str, SubscriptionGroupConfig]:
        return configs

    async def create(_groups: Groups, config: SubscriptionGroupConfig, *, broker: str | None = None) -> list[str]:
        changed[broker] = config
        return [str(broker)]

    monkeypatch.setattr(Groups, "config", config)
    monkeypatch.setattr(Groups, "create", create)
    return changed


def test_brokers_that_differ_are_not_made_equal_unasked(
    site: Site, put: dict[str | None, SubscriptionGroupConfig]
) -> None:
    """The form shows what each has; saving changes the broker that was chosen, or all when that was."""
    shown = site.get("/groups/split/change")
    assert "The settings differ between brokers" in shown
    assert 'name="tries" inputmode="numeric" required value="3"' in shown
    other = site.get("/groups/split/change", broker="broker-b")
    assert 'name="tries" inputmode="numeric" required value="16"' in other
    assert "<option selected>broker-b</option>" in other
    refused = site.post("/groups/split/change", 400, **FIELDS, broker="")
    assert "choose one broker, or every broker" in refused
    assert 'required value="5"' in refused, "what was typed is still there"
    assert put == {}
    assert "Group split was changed on broker-b." in site.post("/groups/split/change", **FIELDS, broker="broker-b")
    assert [(name, each.retry_max_times, each.group_sys_flag) for name, each in put.items()] == [("broker-b", 5, 1)]
    assert "changed on broker-a, broker-b" in site.post("/groups/split/change", **FIELDS, broker="*")
    assert [(each.retry_max_times, each.consume_enable) for each in put.values()] == [(5, True)] * 2
    assert put["broker-a"].broker_id == 7, "what the form does not have stays as it was"


def test_lag_is_shown(site: Site, consumed: str) -> None:
    shown = site.get("/groups/workers")
    assert "<dt>Lag</dt><dd><span>6</span><small>messages" in shown
    assert "workers" in site.get("/groups", q="work")


def test_a_group_that_hangs_in_its_first_messages_is_not_told_to_lag_by_nothing(
    site: Site, console_cluster: EmbeddedCluster, producer: Producer, admin: AdminClient
) -> None:
    """No offset is committed for the topic that it subscribes to; its retry queue has one of zero."""
    admin.topics.create("stuck", queues=1)
    held, done = threading.Event(), threading.Event()
    consumer = PushConsumer("hangers", console_cluster.nameserver)

    @consumer.subscribe("stuck")
    def handle(_message: object) -> None:
        held.set()
        assert done.wait(60)

    producer.send(Message("stuck", b"never consumed"))
    with consumer:
        try:
            assert held.wait(60)
            shown = site.get("/groups/hangers")
            assert "<dt>Lag</dt><dd><span>–</span><small>no offset committed for stuck</small>" in shown
            row = site.get("/groups", q="hangers").partition('<th scope="row">')[2]
            assert '<td class="n">–</td>' in row
            assert site.console.open_view.history.series(("lag", "hangers")) == {}
            assert "1 queue will get a first offset." in site.get("/groups/hangers/reset", topic="stuck", to="last")
        finally:
            done.set()


def test_groups_are_sorted_by_lag(site: Site, consumed: str, admin: AdminClient) -> None:
    """Over all pages of the list; a search and the links to other pages keep the order."""
    for name, at in (("lag-of-one", 9), ("lag-of-ten", 0), ("lag-of-none", 10)):
        admin.groups.create(SubscriptionGroupConfig(group_name=name))
        admin.offsets.reset(name, "work", at)
    shown = site.get("/groups", q="lag-of", by="lag")
    assert re.findall(r">(lag-of-\w+)<", shown) == ["lag-of-ten", "lag-of-one", "lag-of-none"]
    assert 'aria-sort="descending"' in shown
    assert '<input type="hidden" name="by" value="lag">' in shown
    assert "?q=lag-of&amp;page=1" in shown, "back to the order by name"
    assert re.findall(r">(lag-of-\w+)<", site.get("/groups", q="lag-of", by="what")) == [
        "lag-of-none", "lag-of-one", "lag-of-ten",
    ]  # fmt: skip


def test_what_comes_in_is_beside_what_goes_out(site: Site, online: PushConsumer) -> None:
    """Over the topics that it consumes; a group that consumes none has no such figure."""
    figures = site.get("/groups/watchers")
    assert re.search(r"<dt>Incoming</dt><dd><span>[\d.]+/s</span><small>to its topics", figures)
    assert set(site.console.open_view.history.series(("rate", "watchers"))) == {"in", "out"}
    site.post("/new/group", name="idlers", **FIELDS)
    assert "<dt>Incoming</dt><dd><span>–</span><small>" in site.get("/groups/idlers")


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
    assert "Time: expected a date" in site.get("/groups/workers/reset", 400, topic="work", to="time", when="later")
    assert [action for action, _ in site.changes[:3]] == ["group reset"] * 3


def test_a_place_is_cloned(site: Site, consumed: str, admin: AdminClient) -> None:
    admin.offsets.reset("workers", "work", 3)
    site.post("/new/group", name="heirs", **FIELDS)
    assert "Offsets of workers in work were cloned to heirs" in site.post(
        "/groups/workers/clone", topic="work", target="heirs"
    )
    assert admin.offsets.get("heirs", "work").popitem()[1] == 3
    assert "nothing to clone" in site.post("/groups/born-too-late/clone", 400, topic="work", target="heirs")


def test_members_and_what_each_has(site: Site, online: PushConsumer) -> None:
    shown = site.get("/groups/watchers")
    assert "No consumer is connected" not in shown
    link = shown.split('href="/groups/watchers/members/')[1].split('"')[0]
    inside = site.get(f"/groups/watchers/members/{link}", stacks="1")
    assert "PROP_CONSUME_TYPE" in inside
    assert "Stack traces" in inside


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
