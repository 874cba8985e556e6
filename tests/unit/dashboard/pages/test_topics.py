"""Topics: made, shown, changed and deleted through pages."""

from __future__ import annotations

import asyncio
import re
from functools import partial

import pytest
from tests.peers.process import eventually
from tests.unit.dashboard.site import Site

from sprocketmq import Message
from sprocketmq.client.admin.topics import TopicFigures, Topics
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.protocol.bodies.topic import TopicConfig

FIELDS = {"write_queues": "4", "read_queues": "4", "readable": "on", "writable": "on", "type": "", "broker": ""}


def test_a_topic_is_made_changed_and_deleted(site: Site, admin: AdminClient, producer: Producer) -> None:
    assert "Topic life was created on broker-a." in site.post("/new/topic", name="life", **FIELDS)
    producer.send(Message("life", b"one"))
    shown = site.get("/topics/life")
    assert "read and write" in shown
    assert "broker-a:3" in shown
    assert "72 h" in shown or " h<" in shown, "how long messages are kept"
    changed = FIELDS | {"write_queues": "6", "read_queues": "6", "writable": ""}
    assert "Topic life was changed on broker-a." in site.post("/topics/life/change", **changed)
    config = admin.topics.config("life")["broker-a"]
    assert (config.write_queue_nums, config.perm) == (6, 4)
    assert "1 message in 6 queues will be deleted" in site.get("/topics/life/delete")
    assert "nothing was deleted" in site.post("/topics/life/delete", 400, name="live")
    assert "Topic life was deleted" in site.post("/topics/life/delete", name="life")
    assert "life" not in admin.topics.names()
    assert site.changes[0] == ("topic delete", "life")


def test_a_topic_may_take_messages_of_every_kind_again(site: Site, admin: AdminClient) -> None:
    site.post("/new/topic", name="kinds", **(FIELDS | {"type": "FIFO"}))
    assert admin.topics.config("kinds")["broker-a"].attributes == {"message.type": "FIFO"}
    site.post("/topics/kinds/change", **FIELDS)
    assert admin.topics.config("kinds")["broker-a"].attributes == {}


def test_brokers_that_differ_are_not_made_equal_unasked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for groups: the form shows what each has, and saving changes the broker that was chosen, or all."""
    configs = {"broker-a": TopicConfig(write_queue_nums=2, read_queue_nums=2, perm=6), "broker-b": TopicConfig(perm=4)}
    put: list[object] = []

    async def config(_topics: Topics, _topic: str) -> dict[str, TopicConfig]:
        return configs

    async def create(_topics: Topics, _topic: str, **given: object) -> list[str]:
        put.append((given["broker"], given["queues"]))
        return [str(given["broker"])]

    monkeypatch.setattr(Topics, "config", config)
    monkeypatch.setattr(Topics, "create", create)
    shown = site.get("/topics/split/change")
    assert "The settings differ between brokers" in shown
    assert '<a href="/topics/split/change?broker=broker-b">broker-b</a>' in shown
    assert 'name="write_queues" inputmode="numeric" required value="2"' in shown
    other = site.get("/topics/split/change", broker="broker-b")
    assert 'name="write_queues" inputmode="numeric" required value="16"' in other
    assert "choose one broker, or every broker" in site.post("/topics/split/change", 400, **FIELDS)
    assert put == []
    site.post("/topics/split/change", 404, **(FIELDS | {"broker": "*"}))  # the page of a topic that is not really there
    assert put == [("broker-a", 4), ("broker-b", 4)]


def test_what_is_wrong_is_said_above_the_form(site: Site) -> None:
    shown = site.post("/new/topic", 400, name="bad name", **FIELDS)
    assert "has other characters" in shown
    assert 'value="bad name"' in shown, "what was typed is still there"
    assert "from 1 to 1,024" in site.post("/new/topic", 400, name="x", **(FIELDS | {"write_queues": "0"}))


def test_the_list_is_searched_and_paged_by_the_server(site: Site, admin: AdminClient) -> None:
    for number in range(30):
        admin.topics.create(f"many-{number:02}", queues=1)
    first = site.get("/topics", q="many-")
    assert "1–25 of 30 topics" in first
    assert "many-00" in first
    second = site.get("/topics", q="many-", page="2")
    assert "26–30 of 30" in second
    assert "many-29" in second
    assert "many-00" not in second
    assert "1–1 of 1 topic<" in site.get("/topics", q="MANY 07")
    assert "No topic has" in site.get("/topics", q="none of these")


def test_topics_are_sorted_by_what_they_hold_and_get(site: Site, admin: AdminClient, producer: Producer) -> None:
    """Over all pages of the list; a search and the links to other pages keep the order."""
    for name, messages in (("holds-one", 1), ("holds-none", 0), ("holds-three", 3)):
        admin.topics.create(name, queues=1)
        for _ in range(messages):
            producer.send(Message(name, b"held"))
    by_name = ["holds-none", "holds-one", "holds-three"]
    for by in ("messages", "rate"):
        eventually(partial(is_sorted, site, by), "figures of all topics")
        shown = site.get("/topics", q="holds-", by=by)
        assert 'aria-sort="descending"' in shown
        assert f'<input type="hidden" name="by" value="{by}">' in shown
    assert listed(site.get("/topics", q="holds-", by="messages")) == ["holds-three", "holds-one", "holds-none"]
    assert sorted(listed(site.get("/topics", q="holds-", by="rate"))) == by_name
    assert listed(site.get("/topics", q="holds-", by="what")) == by_name


def is_sorted(site: Site, by: str) -> bool:
    return "so far" not in site.get("/topics", by=by)


def listed(page: str) -> list[str]:
    return re.findall(r">(holds-\w+)<", page)


def test_a_list_that_is_not_sorted_yet_says_so_and_goes_on(site: Site, admin: AdminClient) -> None:
    """What was counted has its place; a broker that does not tell keeps no page."""
    admin.topics.create("holds-back", queues=1)
    held = asyncio.Event()

    async def figures(_topics: Topics, topic: str) -> TopicFigures:
        if topic == "holds-back":
            await held.wait()
        return TopicFigures(1.0, {})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Topics, "figures", figures)
        shown = site.get("/topics", by="rate", q="no-such")
    assert site.client.portal is not None
    site.client.portal.call(held.set)
    assert re.search(r"Sorted by the figures of \d+ of \d+ topics? so far\.", shown)
    assert 'data-live="/live/topics?q=no-such&amp;kind=yours&amp;by=rate&amp;page=1"' in shown
    assert "Reload</a> for the rest" in shown, "without scripts"


def test_system_topics_are_a_kind_of_their_own(site: Site) -> None:
    assert "TBW102" in site.get("/topics", kind="system")
    assert "TBW102" not in site.get("/topics")
