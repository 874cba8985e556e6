"""Messages: browsed, found, read in three forms, sent and sent again."""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime

import pytest
from tests.unit.dashboard.site import Site

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.client.sync.admin import AdminClient


@pytest.fixture(scope="module")
def topic(admin: AdminClient, producer: Producer) -> str:
    admin.topics.create("browsed", queues=3)
    for number in range(120):
        tag = "even" if number % 2 == 0 else "odd"
        body = b'{"number": %d, "inner": {"list": [1, true, null]}}' % number
        properties = {"price": str(number), "html": "<b>&"}
        producer.send(Message("browsed", body, tag=tag, keys=[f"key-{number}"], properties=properties))
    return "browsed"


def numbers(page: str) -> list[int]:
    return [int(text) for text in re.findall(r"&#34;number&#34;: (\d+)", page)]


def follow(site: Site, page: str) -> str:
    link = re.search(r'rel="next" href="(\?[^"]+)"', page)
    assert link is not None
    return site.get(f"/topics/browsed/messages{link[1].replace('&amp;', '&')}")


def test_newest_first_and_on_to_the_oldest(site: Site, topic: str) -> None:
    page = site.get("/topics/browsed/messages")
    seen = numbers(page)
    assert len(seen) == 50
    assert set(seen) == set(range(70, 120))
    page = follow(site, page)
    seen += numbers(page)
    page = follow(site, page)
    seen += numbers(page)
    assert sorted(seen) == list(range(120)), "every message is shown once"
    assert 'rel="next"' not in page


def test_a_size_is_that_of_the_body_and_not_of_its_compressed_form(
    site: Site, admin: AdminClient, producer: Producer
) -> None:
    admin.topics.create("compressed", queues=1)
    producer.send(Message("compressed", b"x" * 300_000))
    assert "300 kB" in site.get("/topics/compressed/messages")
    assert "300 kB" in site.get("/messages/compressed/broker-a/0/0")


def test_oldest_first(site: Site, topic: str) -> None:
    page = site.get("/topics/browsed/messages", **{"from": "oldest"})
    assert set(numbers(page)) == set(range(50))
    assert set(numbers(follow(site, page))) == set(range(50, 100))


def test_from_an_offset_and_from_a_time(site: Site, topic: str) -> None:
    assert len(numbers(site.get("/topics/browsed/messages", **{"from": "offset", "at": "39"}))) == 3
    now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    early = site.get("/topics/browsed/messages", **{"from": "time", "at": "2020-01-01T00:00:00"})
    assert len(numbers(early)) == 50
    assert numbers(site.get("/topics/browsed/messages", **{"from": "time", "at": f"{now[:3]}9{now[4:]}"})) == []
    assert "a date and time" in site.get("/topics/browsed/messages", 400, **{"from": "time", "at": "noon"})
    assert "a whole number" in site.get("/topics/browsed/messages", 400, **{"from": "offset", "at": "-1"})


def test_filters(site: Site, topic: str) -> None:
    even = numbers(site.get("/topics/browsed/messages", tag="even"))
    assert len(even) == 50
    assert all(number % 2 == 0 for number in even)
    dear = site.get("/topics/browsed/messages", sql="price >= 110 AND TAGS = 'odd'")
    assert sorted(numbers(dear)) == [111, 113, 115, 117, 119]
    assert "5 messages of" in dear
    assert "SQL92" in site.get("/topics/browsed/messages", 400, sql="price >=")


def test_one_queue(site: Site, topic: str) -> None:
    page = site.get("/topics/browsed/messages", queue="broker-a:1")
    assert set(re.findall(r'<td class="less">broker-a:(\d)</td>', page)) == {"1"}


def test_by_key_and_by_id(site: Site, topic: str, producer: Producer) -> None:
    assert numbers(site.get("/topics/browsed/messages", **{"from": "key", "at": "key-42"})) == [42]
    receipt = producer.send(Message("browsed-by-id", b"found"))
    for path in ("/find", "/topics/browsed-by-id/messages"):
        assert "found" in site.get(path, **{"from": "id", "at": receipt.message_id, "id": receipt.message_id})
    assert "no message nonsense" in site.get("/find", 404, id="nonsense")


def test_a_body_in_three_forms(site: Site, topic: str) -> None:
    place = re.search(r'href="(/messages/[^"]+)"', site.get("/topics/browsed/messages"))
    assert place is not None
    folded = site.get(place[1])
    assert '<span class="key">number</span>' in folded
    assert '<span class="value">null</span>' in folded
    assert "&lt;b&gt;&amp;" in folded, "properties are escaped"
    assert "&#34;inner&#34;" in site.get(place[1], **{"as": "text"})
    assert "7b 22 6e 75" in site.get(place[1], **{"as": "hex"})
    raw = site.client.get(f"{place[1]}/raw")
    assert raw.content.startswith(b'{"number"')
    assert raw.headers["content-disposition"].startswith("attachment")


def test_a_message_is_sent_and_sent_again(site: Site, admin: AdminClient) -> None:
    admin.topics.create("sent-to", queues=1)
    fields = {"body": "hello\r\nworld", "tag": "t", "keys": "a b", "properties": "region=eu", "sharding_key": ""}
    assert "Sent " in site.post("/topics/sent-to/send", delay="", **fields)
    shown = site.get("/messages/sent-to/broker-a/0/0")
    assert "hello\nworld" in shown
    assert "region" in shown
    assert "Sent again to sent-to" in site.post("/messages/sent-to/broker-a/0/0/resend")
    assert admin.topics.figures("sent-to").messages == 2
    assert [action for action, _ in site.changes[:2]] == ["message resend", "message send"]
    wrong = site.post("/topics/sent-to/send", 400, delay="soon", **fields)
    assert "Delay: expected a whole number" in wrong
    assert all(typed in wrong for typed in ("hello", 'value="a b"', "region=eu")), "what was typed is still there"
    assert '<input name="keys" value="">' in site.get("/topics/sent-to/send"), "and nothing else"
    assert "is not NAME=VALUE" in site.post("/topics/sent-to/send", 400, delay="", **(fields | {"properties": "eu"}))


def test_a_place_where_no_message_is(site: Site, topic: str) -> None:
    assert "no message, or no longer one," in site.get("/messages/browsed/broker-a/0/4711", 404)
    site.get("/messages/browsed/broker-a/zero/0", 404)


@pytest.mark.parametrize("message_id", ["no id", "A" * 40])
def test_an_id_that_is_none_is_not_found(site: Site, topic: str, message_id: str) -> None:
    assert f"no message {message_id} in topic" in site.get(
        f"/topics/{topic}/messages", 404, **{"from": "id", "at": message_id}
    )


def test_an_id_leads_to_no_address_outside_the_cluster(site: Site, topic: str) -> None:
    """Any page of the web may link to a search for an id, and an id holds an address."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.setblocking(False)
        port: int = other.getsockname()[1]
        forged = f"7F000001{port:08X}{0:016X}"
        site.get(f"/topics/{topic}/messages", 404, **{"from": "id", "at": forged})
        site.get("/find", 404, id=forged)
        with pytest.raises(BlockingIOError):
            other.accept()
