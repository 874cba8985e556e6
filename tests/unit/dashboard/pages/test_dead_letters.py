"""Dead letters: shown, exported, and given back after a count."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from functools import partial

import pytest
from tests.peers.probe import ask, routes_to
from tests.peers.process import eventually
from tests.unit.dashboard.site import Site

from sprocketmq import Message
from sprocketmq.client import ConsumerSettings, ReceivedMessage, Retry
from sprocketmq.client.admin.messages import Messages
from sprocketmq.client.errors import Unreachable
from sprocketmq.client.sync import Producer, PushConsumer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.codes import RequestCode
from sprocketmq.dashboard.cluster import dead_letters
from sprocketmq.dashboard.cluster.dead_letters import Letters, every
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def group(console_cluster: EmbeddedCluster, admin: AdminClient, producer: Producer) -> str:
    """A group that gave up on three messages; one of them is no text."""
    admin.topics.create("doomed", queues=1)
    tried = threading.Semaphore(0)
    consumer = PushConsumer("givers-up", console_cluster.nameserver, settings=ConsumerSettings(max_reconsume_times=0))

    @consumer.subscribe("doomed")
    def handle(_message: object) -> Retry:
        tried.release()
        return Retry()

    for body in (b"first", b"second", b"\xff\xfe"):
        producer.send(Message("doomed", body, keys=["dead"]))
    with consumer:
        for _ in range(3):
            assert tried.acquire(timeout=60)
    routed = partial(routes_to, console_cluster.nameserver, console_cluster.broker, "%DLQ%givers-up")
    eventually(routed, "the route to a topic that the broker has just made")
    assert admin.topics.figures("%DLQ%givers-up").messages == 3, "a consumer that stops has sent back what failed"
    return "givers-up"


def test_letters_are_shown(site: Site, group: str) -> None:
    assert "givers-up" in site.get("/letters")
    shown = site.get("/letters/givers-up")
    assert "Resend all 3" in shown
    assert shown.count('name="letter"') == 3
    assert "second" in shown
    assert "No dead letters." in site.get("/letters/somebody-else")


def test_letters_are_exported(site: Site, group: str) -> None:
    answer = site.client.get("/letters/givers-up/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="dead-letters-givers-up.jsonl"'
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row.get("body_hex") or row["body"] for row in rows] == ["first", "second", "fffe"]
    assert rows[0]["keys"] == ["dead"]


def test_a_letter_that_cannot_be_read_hides_no_other(site: Site, admin: AdminClient) -> None:
    """It says that it is compressed and is not: a message of this kind is why people look here."""
    admin.topics.create("%DLQ%inflaters", queues=1)
    sent = {"producerGroup": "p", "topic": "%DLQ%inflaters", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
            "queueId": "0", "bornTimestamp": "1", "flag": "0", "properties": ""}  # fmt: skip
    for flag, body in (("0", b"good"), ("1", b"no zlib")):
        assert ask(site.cluster.broker, RequestCode.SEND_MESSAGE, sent | {"sysFlag": flag}, body)[0] == 0
    page = site.get("/letters/inflaters")
    assert page.count('name="letter"') == 2
    assert "good" in page
    assert "unreadable: " in page
    good, bad = (json.loads(line) for line in site.client.get("/letters/inflaters/export").text.splitlines())
    assert good["body"] == "good"
    assert bytes.fromhex(bad["body_hex"]) == b"no zlib"
    assert bad["unreadable"]


def test_chosen_letters_go_back_after_a_count(site: Site, group: str, admin: AdminClient) -> None:
    chosen = ["broker-a:0:0", "broker-a:0:1"]
    assert "Resend 2 messages to givers-up?" in site.post("/letters/givers-up/choose", letter=chosen, which="chosen")
    assert "Resend 3" in site.post("/letters/givers-up/choose", which="all")
    assert "No dead letter was selected" in site.post("/letters/givers-up/choose", 400, which="chosen")
    done = site.post("/letters/givers-up/resend", letter=[*chosen, "broker-a:0:4711", "nonsense"])
    assert "2 messages were resent to givers-up." in done
    assert "3 messages were resent to givers-up." in resent(site, "givers-up")
    assert site.changes[0] == ("letters resend", "3 of givers-up")
    assert admin.topics.figures("%DLQ%givers-up").messages == 3, "they stay"


def resent(site: Site, group: str) -> str:
    """The page of the job that resends all of them, when it has ended."""
    answer = site.client.post(f"/letters/{group}/resend", data={"csrf": site.token(), "which": "all"})
    path = answer.url.path
    assert path.startswith("/jobs/"), answer.text
    eventually(lambda: "data-ended" in site.get(path), "the end of the job")
    return site.get(path)


def test_letters_that_went_before_a_failure_are_on_record(
    site: Site, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_back = Messages.give_back
    given: list[ReceivedMessage] = []

    async def until_the_broker_is_gone(messages: Messages, group: str, message: ReceivedMessage) -> None:
        if given:
            raise Unreachable("127.0.0.1:1", "gone")
        given.append(message)
        await give_back(messages, group, message)

    monkeypatch.setattr(Messages, "give_back", until_the_broker_is_gone)
    failed = resent(site, "givers-up")
    assert ">failed<" in failed
    assert "1 message was resent to givers-up." in failed
    assert "gone" in failed
    assert site.changes[0] == ("letters resend", "1 of givers-up")
    assert "failed: " in site.console.audit.changes[0].outcome
    chosen = site.post("/letters/givers-up/resend", letter=["broker-a:0:0"])
    assert "0 messages were resent to givers-up." in chosen, "the page of the job says why"
    assert ">failed<" in chosen


def test_all_are_all_however_many(site: Site, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in their queue, so that a second click would begin with the first of them again."""
    given: list[ReceivedMessage] = []

    async def many(view: ClusterView, letters: Letters) -> AsyncIterator[ReceivedMessage]:
        async for message in every(view, letters):
            for _ in range(5_000):
                yield message

    async def give_back(_messages: Messages, _group: str, message: ReceivedMessage) -> None:
        given.append(message)

    monkeypatch.setattr(dead_letters, "every", many)
    monkeypatch.setattr(Messages, "give_back", give_back)
    assert "15,000 messages were resent to givers-up." in resent(site, "givers-up")
    assert len(given) == 15_000


def test_a_resend_tells_how_far_it_is_and_is_canceled(site: Site, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By reloads, as without scripts. What went stays sent and is on record; a second one waits for its end."""
    given: list[ReceivedMessage] = []

    async def hanging_after_one(_messages: Messages, _group: str, message: ReceivedMessage) -> None:
        given.append(message)
        if len(given) > 1:
            await asyncio.Event().wait()

    monkeypatch.setattr(Messages, "give_back", hanging_after_one)
    started = site.client.post("/letters/givers-up/resend", data={"csrf": site.token(), "which": "all"})
    path = started.url.path
    eventually(lambda: "33 %, 1 of 3 messages" in site.get(path), "the first of three")
    assert f'<noscript><p><a href="{path}">Reload</a>' in site.get(path)
    assert "still running" in site.post("/letters/givers-up/resend", 502, letter=["broker-a:0:0"])
    assert f'<a href="{path}">resend dead letters to givers-up</a>' in site.get("/letters/givers-up")
    canceled = site.post(f"{path}/cancel")
    assert ">canceled<" in canceled
    assert "1 message was resent to givers-up." in canceled
    told = [(each.action, each.target, each.outcome) for each in site.console.audit.changes]
    assert told[:2] == [
        ("job cancel", "resend dead letters to givers-up", "done"), ("letters resend", "1 of givers-up", "canceled"),
    ]  # fmt: skip
    assert ">canceled<" in site.post(f"{path}/cancel"), "once is enough"
    assert len([change for change in site.console.audit.changes if change.action == "job cancel"]) == 1
