"""The console in a real browser, against Apache RocketMQ 5.3.3 and against ours: every page, every change."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import Browser, Route, expect
from tests.browser.chromium import Tab, console, tab
from tests.faultproxy.proxy import FaultProxy
from tests.peers.fixtures import Unique
from tests.peers.process import eventually
from tests.peers.servers import Cluster

from sprocketmq import Message
from sprocketmq.client import ConsumerSettings, Retry
from sprocketmq.client.sync import Producer, PushConsumer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def home(where: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    runs = tmp_path_factory.mktemp("runs")
    with console(where.address, "--store", where.broker.store, "--runs", runs) as address:
        yield address


@pytest.fixture
def visitor(browser: Browser, home: str) -> Iterator[Tab]:
    with tab(browser, home) as opened:
        yield opened


@pytest.fixture(scope="module")
def producer(where: Cluster) -> Iterator[Producer]:
    with Producer("console-browser", where.address, trace=where.kind == "sprocket") as started:
        yield started


@pytest.fixture(scope="module")
def admin(where: Cluster) -> Iterator[AdminClient]:
    with AdminClient(where.address) as started:
        yield started


def shows(visitor: Tab, topic: str, choice: str, at: str, tag: str, sql: str, count: int) -> bool:
    page = visitor.open(f"/topics/{topic}/messages")
    page.select_option("main [name=from]", choice)
    visitor.fill(at=at, tag=tag, sql=sql)
    visitor.press("Show")
    return page.locator("main tbody tr").count() == count


def test_a_topic_from_its_making_to_its_end(visitor: Tab, unique: Unique, admin: AdminClient) -> None:
    topic = unique("console-topic")
    page = visitor.open("/topics")
    visitor.press("New topic")
    visitor.fill(name=topic, write_queues="2", read_queues="2")
    visitor.press("Create")
    assert f"Topic {topic} was created on" in visitor.text()
    visitor.press("Send")
    visitor.fill(body='{"id": 7, "who": {"name": "<Ada>"}}', tag="new", keys="k7", properties="price=120\nregion=eu")
    visitor.press("Send")
    assert "Sent " in visitor.text()
    page.locator("main td a").first.click()
    assert '"<Ada>"' in page.inner_text(".json"), "folded JSON"
    visitor.press("Hex")
    assert "7b 22 69 64" in visitor.text()
    visitor.press("Text")
    assert '{"id": 7' in visitor.text()
    visitor.press("Send again")
    assert f"Sent again to {topic}" in visitor.text()
    for choice, at, tag, sql, count in [
        ("oldest", "", "", "", 2), ("newest", "", "none", "", 0), ("newest", "", "", "price > 120", 0),
        ("newest", "", "", "price > 100 AND region = 'eu'", 2), ("key", "k7", "", "", 2),
        ("time", "2020-01-01T00:00:00", "", "", 2), ("offset", "0", "", "", 2),
    ]:  # fmt: skip
        # A busy broker answers later than the console waits for it, and the page says so.
        eventually(partial(shows, visitor, topic, choice, at, tag, sql, count), f"{count} messages by {choice} {at}")
    visitor.open(f"/topics/{topic}/change")
    visitor.fill(write_queues="3", read_queues="3")
    visitor.press("Save")
    config = next(iter(admin.topics.config(topic).values()))
    assert (config.write_queue_nums, config.perm) == (3, 6)
    visitor.open(f"/topics/{topic}/delete")
    visitor.fill(name=topic)
    visitor.press("Delete")
    assert f"Topic {topic} was deleted" in visitor.text()
    assert topic not in admin.topics.names()


def test_a_group_is_watched_moved_cloned_and_deleted(
    visitor: Tab, unique: Unique, admin: AdminClient, producer: Producer, where: Cluster
) -> None:
    topic, group, heir = unique("console-work"), unique("console-workers"), unique("console-heirs")
    admin.topics.create(topic, queues=1)
    seen = threading.Event()
    consumer = PushConsumer(group, where.address)

    @consumer.subscribe(topic)
    def handle(_message: object) -> None:
        seen.set()

    sent = producer.send(Message(topic, b"one"))
    with consumer:
        assert seen.wait(60)
        page = visitor.open(f"/groups/{group}")
        assert "No consumer is connected" not in visitor.text()
        page.locator(f"main a[href*='/groups/{group}/members/']").first.click()
        visitor.press("Show stack traces")
        assert "Thread " in page.inner_text("main section:has(h2:text('Stack traces')) pre")
        again = page.locator(f"main button:has-text('Deliver now to a consumer of {group}')")

        def is_tracked() -> bool:
            """The broker knows who consumes a topic when the group has committed, some seconds later."""
            visitor.open(f"/find?id={sent.message_id}")
            return again.count() > 0

        eventually(is_tracked, "the group among those who consume the message")
        assert admin.topics.groups(topic) == [group], "and nobody else"
        again.click()
        assert "CR_SUCCESS" in visitor.text()
    for number in range(4):
        producer.send(Message(topic, b"%d" % number))
    visitor.open(f"/groups/{group}/reset?topic={topic}&to=first")
    assert "will be consumed again" in visitor.text() or "No offset changes" in visitor.text()
    visitor.open(f"/groups/{group}/reset")
    page.check("main input[value=offset]")
    visitor.fill(offset="2")
    visitor.press("Preview")
    visitor.press("Reset offsets")
    assert f"Offsets of {group} in {topic} were reset" in visitor.text()
    assert admin.offsets.get(group, topic).popitem()[1] == 2
    visitor.open("/new/group")
    visitor.fill(name=heir, tries="3")
    visitor.press("Create")
    visitor.open(f"/groups/{group}/clone")
    visitor.fill(target=heir)
    visitor.press("Clone offsets")
    assert admin.offsets.get(heir, topic).popitem()[1] == 2
    visitor.open(f"/groups/{heir}/reset?topic={topic}&to=last")
    assert "3 messages will be skipped" in visitor.text()
    visitor.press("Reset offsets")
    assert admin.offsets.get(heir, topic).popitem()[1] == 5, "skipped"
    visitor.open(f"/groups/{heir}/change")
    visitor.fill(tries="4")
    visitor.press("Save")
    assert next(iter(admin.groups.config(heir).values())).retry_max_times == 4
    for each in (group, heir):
        visitor.open(f"/groups/{each}/delete")
        visitor.fill(name=each)
        visitor.press("Delete")
        assert f"Group {each} was deleted" in visitor.text()


def test_dead_letters_go_back_one_and_all(
    visitor: Tab, unique: Unique, admin: AdminClient, producer: Producer, where: Cluster
) -> None:
    topic, group = unique("console-fails"), unique("console-failing")
    admin.topics.create(topic, queues=1)
    tries: list[str] = []
    dead = threading.Event()
    consumer = PushConsumer(group, where.address, settings=ConsumerSettings(max_reconsume_times=0))

    @consumer.subscribe(topic)
    def handle(message: object) -> Retry:
        tries.append(str(message))
        if len(tries) == 2:
            dead.set()
        return Retry()

    for number in range(2):
        producer.send(Message(topic, b"bad %d" % number, keys=[f"bad-{number}"]))
    with consumer:
        assert dead.wait(60)
        page = visitor.open(f"/letters/{group}")
        while "Resend all 2" not in visitor.text():
            page.wait_for_timeout(200)
            visitor.open(f"/letters/{group}")
        assert "bad-1" in visitor.text()
        lines = page.request.get(f"{visitor.home}/letters/{group}/export").text().splitlines()
        assert len(lines) == 2
        page.locator("main input[name=letter]").first.check()
        visitor.press("Resend selected")
        assert "Resend 1 message to" in visitor.text()
        visitor.press("Resend 1")
        assert "1 message was resent" in visitor.text()
        page.locator("main button[value=all]").click()
        page.locator("main button.sure").click()
        expect(page.locator("main")).to_contain_text(re.compile(r"[23] messages were resent"))
    visitor.open("/letters")
    assert group in visitor.text()


def test_a_trace_is_a_time_line(visitor: Tab, unique: Unique, producer: Producer, where: Cluster) -> None:
    """Where it is written: a broker of Apache's has no topic for it unless it was started so."""
    sent = producer.send(Message(unique("console-traced"), b"followed"))
    drawn = visitor.page.locator("main svg[aria-label^='Time line: sent by console-browser']")

    def is_told() -> bool:
        """The producer tells of it a moment later; so does the index by which it is found."""
        return visitor.page.goto(f"{visitor.home}/find?id={sent.message_id}") is not None and drawn.count() > 0

    if where.kind == "sprocket":
        eventually(is_told, "the trace of the message")
    else:
        eventually(
            lambda: not is_told() and "No trace of this message" in visitor.text(), "the message without a trace"
        )
    visitor.faults.clear()  # it may not have been found at once


def test_what_waits(visitor: Tab, unique: Unique, producer: Producer, where: Cluster) -> None:
    topic = unique("console-later")
    producer.send(Message(topic, b"at a level", delay_level=14))
    producer.send(Message(topic, b"at a time", delay=3000))
    page = visitor.open("/waiting")
    while "10m" not in visitor.text() or (where.kind == "sprocket" and topic not in visitor.text()):
        page.wait_for_timeout(500)
        visitor.open("/waiting")
    assert "Open transactions" in visitor.text()


def test_open_transactions_and_what_is_popped(visitor: Tab, unique: Unique, admin: AdminClient, where: Cluster) -> None:
    topic, group = unique("console-open"), unique("console-poppers")
    admin.topics.create(topic, queues=1)
    held, done = threading.Event(), threading.Event()
    consumer = PushConsumer(group, where.address, pop=True)

    @consumer.subscribe(topic)
    def handle(_message: object) -> None:
        held.set()
        assert done.wait(300)

    with Producer("console-tellers", where.address) as producer:
        producer.send(Message(topic, b"popped"))
        half = producer.send_half(Message(topic, b"open"))
        with consumer:
            assert held.wait(60)
            try:
                eventually(partial(waits_for, visitor, half.message_id, group), "both on the page")
                assert visitor.layout_faults(axe=where.kind == "sprocket") == []
            finally:
                done.set()


def waits_for(visitor: Tab, transaction: str, group: str) -> bool:
    """Under the heading that it belongs to."""
    page = visitor.open("/waiting")
    opened, popped = (page.locator("main section", has=page.locator(f"h2:has-text('{name}')")) for name in _WAITING)
    return opened.get_by_text(transaction).count() == 1 and popped.get_by_text(group, exact=True).count() == 1


_WAITING = ("Open transactions", "POP in flight")


def test_parts_go_on_by_themselves(visitor: Tab, unique: Unique, admin: AdminClient, producer: Producer) -> None:
    topic = unique("console-live")
    admin.topics.create(topic, queues=1)
    page = visitor.open(f"/topics/{topic}")
    kept = page.locator("dl.figures .figure", has_text="Messages stored").locator("dd")
    expect(kept).to_have_text("0")
    producer.send(Message(topic, b"seen without a reload"))
    expect(kept).to_have_text("1")
    page.locator("main [data-live] td").first.click()
    page.locator("main [data-live] h2").first.select_text()
    chosen = page.evaluate("getSelection().toString()")
    producer.send(Message(topic, b"seen by one who clicked and chose some text"))
    expect(kept).to_have_text("2")
    assert page.evaluate("document.activeElement.className") == "frame", "the focus is where it was"
    assert page.evaluate("getSelection().toString()") == chosen != ""
    page.evaluate("dispatchEvent(new Event('pagehide')), dispatchEvent(new Event('pageshow'))")
    producer.send(Message(topic, b"seen by one who went away and came back"))
    expect(kept).to_have_text("3")


def test_a_refused_stream_is_asked_for_again(visitor: Tab) -> None:
    """A browser gives up on its own when an answer is no stream, as while too many pages are open."""
    refusals = iter([503])

    def refuse_once(route: Route) -> None:
        status = next(refusals, None)
        route.fulfill(status=status) if status else route.continue_()

    visitor.page.route("**/live/overview", refuse_once)
    note = visitor.open("/").locator("main .away")
    expect(note).to_contain_text("no new figures")
    expect(note).to_have_count(0)
    assert visitor.refusals() == ["503"]


#: Not in one instant: the browser itself makes one of those.
_TWO_CLICKS = """async () => {
    const button = document.querySelector("main form button");
    button.click();
    await new Promise(done => setTimeout(done, 50));
    button.click();
}"""


def test_a_form_that_is_on_its_way_is_not_sent_again(visitor: Tab, unique: Unique, admin: AdminClient) -> None:
    topic = unique("console-twice")
    admin.topics.create(topic, queues=1)
    page = visitor.open(f"/topics/{topic}/send")
    visitor.fill(body="once")
    held: list[Route] = []
    page.route("**/send", lambda route: held.append(route))
    page.evaluate(_TWO_CLICKS)
    (only,) = held
    only.continue_()
    expect(page.locator("main .said")).to_contain_text("Sent ")


def test_figures_that_are_old_say_so(browser: Browser, where: Cluster) -> None:
    """While the cluster does not answer; read aloud and readable, and gone when it is back.

    The nameserver itself is not stopped: one of Apache's forgets its broker by that, for up to half a minute.
    """
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(FaultProxy(where.address)) as proxy,
        console(proxy.address) as home,
        tab(browser, home) as visitor,
    ):
        note = visitor.open("/").locator("main .away[role=status]")
        portal.call(proxy.hold)
        expect(note).to_contain_text("The cluster does not answer")
        assert visitor.serious_findings() == []
        portal.call(proxy.heal)
        expect(note).to_have_count(0)


def test_lag_over_time_is_there_after_a_reload(
    browser: Browser, visitor: Tab, unique: Unique, admin: AdminClient, producer: Producer
) -> None:
    """The console keeps it, not the page: one that comes later, and without scripts, begins where the chart began."""
    topic, group = unique("console-behind"), unique("console-late")
    admin.topics.create(topic, queues=1)
    admin.groups.create(SubscriptionGroupConfig(group_name=group))
    for number in range(3):
        producer.send(Message(topic, b"%d" % number))
    admin.offsets.reset(group, topic, "first")
    page = visitor.open(f"/groups/{group}")
    chart = f"main svg.wide[aria-label^='Lag of {group}']"
    expect(page.locator(chart)).to_have_attribute("aria-label", re.compile("now 3, at most 3"))
    admin.offsets.reset(group, topic, "last")
    expect(page.locator(chart)).to_have_attribute("aria-label", re.compile("now 0, at most 3"))
    began = page.text_content(f"{chart} text.start")
    page.reload()
    expect(page.locator(chart)).to_have_attribute("aria-label", re.compile("now 0, at most 3"))
    assert page.text_content(f"{chart} text.start") == began
    with tab(browser, visitor.home, java_script_enabled=False) as later:
        later.open(f"/groups/{group}")
        assert "now 0, at most 3" in str(later.page.get_attribute(chart, "aria-label"))
        assert later.page.text_content(f"{chart} text.start") == began


def test_by_keyboard_alone(visitor: Tab) -> None:
    page = visitor.open("/topics")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("s")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("nothing-like-it")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=nothing-like-it"))
    assert "No topic has" in visitor.text()


def test_without_scripts(browser: Browser, home: str, unique: Unique, admin: AdminClient) -> None:
    topic = unique("console-plain")
    with tab(browser, home, java_script_enabled=False) as visitor:
        visitor.open("/")
        assert "All is well" in visitor.text() or "full" in visitor.text()
        visitor.open("/new/topic")
        visitor.fill(name=topic)
        visitor.press("Create")
        assert f"Topic {topic} was created on" in visitor.text()
        visitor.page.locator("button[value=dark]").click()
        assert visitor.page.get_attribute("html", "data-theme") == "dark"
    assert topic in admin.topics.names()


def test_a_store_on_this_machine_is_verified(visitor: Tab, where: Cluster) -> None:
    page = visitor.open("/store")
    assert "commitlog" in visitor.text()
    visitor.press("Verify")
    expect(page.locator("main [role=status]").first).to_have_text(re.compile("done|failed"))
    if where.kind == "sprocket":
        expect(page.locator("main")).to_contain_text("No problems found")
