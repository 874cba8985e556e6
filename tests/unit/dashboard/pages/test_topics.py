"""Topics: made, shown, changed and deleted through pages."""

from __future__ import annotations

from tests.unit.dashboard.site import Site

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient

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
    assert "1–1 of 1 topics" in site.get("/topics", q="MANY 07")
    assert "No topic has" in site.get("/topics", q="none of these")


def test_system_topics_are_a_kind_of_their_own(site: Site) -> None:
    assert "TBW102" in site.get("/topics", kind="system")
    assert "TBW102" not in site.get("/topics")
